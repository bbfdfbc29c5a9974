// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "trainer/run/logs/metrics.h"

namespace weft {

// Where a line says no number, or one that is not finite.
inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// The numbers of one event's lines, column by column: a log may have millions of lines, of which whole objects would
// fill the memory.
class Columns {
 public:
  explicit Columns(size_t fields) : values_(fields) {}

  void add(const MetricsLine& line);
  void drop_from(int64_t first);  // the rows of this step and later

  const std::vector<int64_t>& steps() const { return steps_; }  // strictly increasing
  const std::vector<double>& times() const { return times_; }
  // Of each row; NaN where it has none. Empty if no row has one.
  const std::vector<double>& values(size_t field) const { return values_[field]; }

 private:
  std::vector<int64_t> steps_;
  std::vector<double> times_;
  std::vector<std::vector<double>> values_;
};

// `rows` rows cut into at most `most` bins of consecutive rows, of similar sizes. One row a bin if there are no more.
class Bins {
 public:
  Bins(size_t rows, size_t most);
  size_t size() const { return size_; }
  bool whole() const { return size_ == rows_; }  // a bin is a row
  size_t begin(size_t bin) const { return rows_ * bin / size_; }
  size_t last(size_t bin) const { return begin(bin + 1) - 1; }

 private:
  size_t rows_, size_;
};

// Of each bin: the extremes of its values and their mean. NaN for a bin in which no value is finite.
struct BinnedValues {
  std::vector<double> low, mean, high;
};
BinnedValues binned(const Bins& bins, std::span<const double> low, std::span<const double> middle,
                    std::span<const double> high);

}  // namespace weft
