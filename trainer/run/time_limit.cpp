// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/time_limit.h"

#include <algorithm>

namespace weft {

TimeLimit::TimeLimit(const std::optional<Duration>& limit, std::function<double()> seconds)
    : limit_(limit), seconds_(std::move(seconds)) {}

bool TimeLimit::up() const {
  if (!limit_) return false;
  const auto limit = static_cast<double>(limit_->seconds);
  const double save = longest_save_.value_or(std::min(60.0, limit / 10));
  return seconds_() + 2 * (longest_step_ + save) >= limit;
}

void TimeLimit::stepped(double seconds) { longest_step_ = std::max(longest_step_, seconds); }

void TimeLimit::save_begun() { save_began_ = seconds_(); }

void TimeLimit::save_committed() {
  if (save_began_) longest_save_ = std::max(longest_save_.value_or(0), seconds_() - *save_began_);
  save_began_.reset();
}

}  // namespace weft
