// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>

namespace weft {

// Whole numbers counted by value, for exact percentiles in one pass. Memory grows with the number of different values:
// the lengths of texts of n tokens in all have fewer than sqrt(2 n) + 1.
class Distribution {
 public:
  void add(int64_t value) { ++counts_[value], ++count_, sum_ += value; }
  int64_t count() const { return count_; }
  int64_t sum() const { return sum_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The least value for which at least `percent` % of all values are not above it (nearest rank; 50: the median, of an
  // even number of values the lower one of the two in the middle). 0 if there are no values.
  int64_t percentile(int percent) const {
    int64_t seen = 0;
    for (const auto& [value, times] : counts_) {
      seen += times;
      if (seen * 100 >= count_ * percent) return value;
    }
    return 0;
  }
  const std::map<int64_t, int64_t>& counts() const { return counts_; }  // by value

 private:
  std::map<int64_t, int64_t> counts_;
  int64_t count_ = 0, sum_ = 0;
};

}  // namespace weft
