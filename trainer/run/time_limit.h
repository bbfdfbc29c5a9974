// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "base/config/fields.h"

namespace weft {

// train.max_time: decides when a start of the run must begin its last save to end in time. It leaves room for twice the
// longest step and save of this start; until a save has been timed, it counts as a minute, or a tenth of the limit if
// that is less. Each rank asks its own clock, and the control all-reduce tells all ranks of the first whose time is up.
class TimeLimit {
 public:
  // `seconds` returns the time since this start of the run began.
  TimeLimit(const std::optional<Duration>& limit, std::function<double()> seconds);
  bool up() const;
  void stepped(double seconds);
  // The time of a save is that between these two calls; a save that fails is not timed.
  void save_begun();
  void save_committed();

 private:
  std::optional<Duration> limit_;
  std::function<double()> seconds_;
  double longest_step_ = 0;
  std::optional<double> longest_save_, save_began_;
};

}  // namespace weft
