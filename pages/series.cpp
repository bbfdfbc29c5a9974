// SPDX-License-Identifier: Apache-2.0
#include "pages/series.h"

#include <algorithm>
#include <cmath>

namespace weft {

void Columns::add(const MetricsLine& line) {
  for (size_t field = 0; field < values_.size(); ++field) {
    std::vector<double>& column = values_[field];
    const double value = line.numbers[field];
    if (column.empty() && std::isnan(value)) continue;
    column.resize(steps_.size(), kNoValue);  // earlier rows had none
    column.push_back(value);
  }
  steps_.push_back(line.step);
  times_.push_back(line.time);
}

void Columns::drop_from(int64_t first) {
  if (steps_.empty() || steps_.back() < first) return;
  const auto kept = static_cast<size_t>(std::ranges::lower_bound(steps_, first) - steps_.begin());
  steps_.resize(kept);
  times_.resize(kept);
  for (auto& column : values_) column.resize(std::min(column.size(), kept));
}

Bins::Bins(size_t rows, size_t most) : rows_(rows), size_(std::min(rows, most)) {}

BinnedValues binned(const Bins& bins, std::span<const double> low, std::span<const double> middle,
                    std::span<const double> high) {
  BinnedValues made;
  for (size_t bin = 0; bin < bins.size(); ++bin) {
    double least = kNoValue, most = kNoValue, sum = 0;
    size_t count = 0;
    for (size_t row = bins.begin(bin); row <= bins.last(bin); ++row) {
      if (std::isfinite(low[row])) least = std::isnan(least) ? low[row] : std::min(least, low[row]);
      if (std::isfinite(high[row])) most = std::isnan(most) ? high[row] : std::max(most, high[row]);
      if (std::isfinite(middle[row])) sum += middle[row], ++count;
    }
    made.low.push_back(least);
    made.mean.push_back(count > 0 ? sum / static_cast<double>(count) : kNoValue);
    made.high.push_back(most);
  }
  return made;
}

}  // namespace weft
