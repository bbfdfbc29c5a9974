// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Minimum, median and maximum of what the ranks report. The median of an even number is the lower of the middle two, so
// that of two ranks the slower is compared with the faster.
struct Spread {
  double min = 0, median = 0, max = 0;
};
Spread spread_of(std::vector<double> values);

// What the ranks of a job report for one step or a window of steps, by world rank, in seconds.
struct RankTimes {
  std::vector<double>
      busy;  // the step without waiting in collectives: replicas in lockstep all take the same wall time
  std::vector<double> data;     // waiting for the loader
  std::vector<double> wait;     // waiting in collectives
  std::vector<double> exposed;  // the rank, or its device, for gradients at the end of its backward
  void add(const RankTimes& other);
};

// Finds ranks that hold the others up: busy with work or waiting for data for more than 1.2 times the median of all
// ranks, in 3 windows in a row. What comes in is put together into windows of `least_seconds` of the busiest rank,
// since over a few milliseconds every rank is slow now and then.
class StragglerWatch {
 public:
  static constexpr double kFactor = 1.2;
  static constexpr int kWindows = 3;
  explicit StragglerWatch(double least_seconds = 5) : least_seconds_(least_seconds) {}

  struct Straggler {
    int rank = 0;
    double times = 0;      // of the median
    bool by_data = false;  // waiting for data makes the larger part of the difference
  };
  // If a window is full: its stragglers that were not reported yet. One is reported again only after a window in which
  // it kept up.
  std::vector<Straggler> add(const RankTimes& times);

 private:
  double least_seconds_;
  RankTimes window_;
  std::vector<int> slow_windows_;  // in a row, by rank
};

}  // namespace weft
