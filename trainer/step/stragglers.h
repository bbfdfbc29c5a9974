// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

// Minimum, median and maximum of one value per rank. The median of an even number of values is the lower of the middle
// two, so that of two ranks the slower is compared with the faster.
struct Spread {
  double min = 0, median = 0, max = 0;
};
Spread spread_of(std::vector<double> values);

// The RankTimes (step_control.h) of all ranks for one step or a window of steps: seconds, by world rank.
struct TimesByRank {
  // Replicas in lockstep all take the same wall time, so `busy` leaves out the time that a rank waits for the others.
  std::vector<double> busy, data, wait, exposed;
  void add(const TimesByRank& other);
};

// Finds ranks that delay the others: their time at work or waiting for data is more than 1.2 times the median of all
// ranks, in 3 windows in a row. Steps are joined into windows of `least_seconds` of the busiest rank, since over a few
// milliseconds every rank is slow now and then.
class StragglerWatch {
 public:
  static constexpr double kFactor = 1.2;
  static constexpr int kWindows = 3;
  explicit StragglerWatch(double least_seconds = 5) : least_seconds_(least_seconds) {}

  struct Straggler {
    int rank = 0;
    double times = 0;      // the rank's time divided by the median
    bool by_data = false;  // waiting for data makes up the larger part of the difference
  };
  // Returns the stragglers that a full window shows for the first time. A rank is reported again only after a window in
  // which it kept up.
  std::vector<Straggler> add(const TimesByRank& times);

 private:
  double least_seconds_;
  TimesByRank window_;
  std::vector<int> slow_windows_;  // slow windows in a row, by rank
};

}  // namespace weft
