// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/stragglers.h"

#include <algorithm>
#include <utility>

namespace weft {

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {.min = values.front(), .median = values[(values.size() - 1) / 2], .max = values.back()};
}

void TimesByRank::add(const TimesByRank& other) {
  const auto sum = [](std::vector<double>& into, const std::vector<double>& from) {
    into.resize(std::max(into.size(), from.size()));
    for (size_t i = 0; i < from.size(); ++i) into[i] += from[i];
  };
  sum(busy, other.busy);
  sum(data, other.data);
  sum(wait, other.wait);
  sum(exposed, other.exposed);
}

std::vector<StragglerWatch::Straggler> StragglerWatch::add(const TimesByRank& times) {
  window_.add(times);
  std::vector<double> load = window_.busy;
  for (size_t i = 0; i < load.size(); ++i) load[i] += window_.data[i];
  if (spread_of(load).max < least_seconds_) return {};
  const TimesByRank window = std::exchange(window_, {});
  const double median = spread_of(load).median;
  const double median_data = spread_of(window.data).median;
  slow_windows_.resize(load.size());
  std::vector<Straggler> found;
  for (size_t i = 0; i < load.size(); ++i) {
    slow_windows_[i] = load[i] > kFactor * median ? slow_windows_[i] + 1 : 0;
    if (slow_windows_[i] != kWindows) continue;
    const bool by_data = 2 * (window.data[i] - median_data) > load[i] - median;
    found.push_back({.rank = static_cast<int>(i), .times = load[i] / std::max(median, 1e-9), .by_data = by_data});
  }
  return found;
}

}  // namespace weft
