// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "base/config/fields.h"

namespace weft {

// train.max_time: says when a start of the run must begin its last save to be done in time. It leaves room for twice
// the longest step and save of this start; until a save has been timed, it counts as a minute, or a tenth of the limit
// where that is less. The clock is this rank's own: what a rank finds goes through the control all-reduce.
class TimeLimit {
 public:
  // `seconds`: since this start of the run began.
  TimeLimit(const std::optional<Duration>& limit, std::function<double()> seconds);
  bool up() const;
  void stepped(double seconds);
  // A save begins; it is committed. One that fails is not timed.
  void save_begun();
  void save_committed();

 private:
  std::optional<Duration> limit_;
  std::function<double()> seconds_;
  double longest_step_ = 0;
  std::optional<double> longest_save_, save_began_;
};

}  // namespace weft
