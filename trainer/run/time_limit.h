// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>

#include "base/config/fields.h"

namespace weft {

// train.max_time: decides when a start of the run must begin its last save to end in time. It leaves room for twice the
// longest step and save of this start; before the first save is timed, that save counts as a minute, or a tenth of the
// limit if less. Each rank reads its own clock; the control all-reduce stops all ranks once one is out of time.
class TimeLimit {
 public:
  // `seconds` returns the time since this start of the run began.
  TimeLimit(const std::optional<Duration>& limit, std::function<double()> seconds);
  bool up() const;
  void stepped(double seconds);
  // Times a save from save_begun() to save_committed(); a save that fails is not timed.
  void save_begun();
  void save_committed();

 private:
  std::optional<Duration> limit_;
  std::function<double()> seconds_;
  double longest_step_ = 0;
  std::optional<double> longest_save_, save_began_;
};

}  // namespace weft
