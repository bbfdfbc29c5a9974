// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/log.h"
#include "base/output.h"

namespace weft {

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto s = static_cast<int64_t>(seconds + 0.5);
  if (s < 60) return fmt::format("{} s", s);
  if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
  return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

std::string format_count(double value) {
  if (value >= 1e9) return fmt::format("{:.2f}G", value / 1e9);
  if (value >= 1e6) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 1e4) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// The step that a pause belongs to is left out with it: earlier marks move to where it ended.
void Pace::leave_out_pause(const Mark& now) {
  if (marks_.size() < 2) return;
  const double usual = (marks_.back().time - marks_.front().time) / static_cast<double>(marks_.size() - 1);
  const double gap = now.time - marks_.back().time, work = now.done - marks_.back().done;
  if (gap <= std::max(kPauseSeconds, kPauseTimes * usual)) return;
  for (Mark& mark : marks_) mark.time += gap, mark.done += work;
}

void Pace::reach(double done, double now) {
  const Mark mark{.done = done, .time = now};
  if (!marks_.empty() && done < marks_.back().done) marks_.clear();
  leave_out_pause(mark);
  const size_t count = marks_.size();
  const bool near = count >= 2 && now - marks_[count - 2].time < kSpan / kMarks;
  if (near || (count > 0 && marks_.back().time == now)) {
    marks_.back() = mark;
  } else {
    marks_.push_back(mark);
  }
  while (marks_.size() > 2 && now - marks_.front().time > kSpan) marks_.pop_front();
}

double Pace::per_second() const {
  if (marks_.size() < 2) return 0;
  const double seconds = marks_.back().time - marks_.front().time, done = marks_.back().done - marks_.front().done;
  return seconds > 0 ? done / seconds : 0;
}

double Pace::seconds_left(double total) const {
  if (!marks_.empty() && marks_.back().done >= total) return 0;
  const double rate = per_second();
  return rate > 0 ? (total - marks_.back().done) / rate : std::numeric_limits<double>::quiet_NaN();
}

Progress::Progress(bool is_rank0, double quiet_seconds)
    : is_rank0_(is_rank0),
      terminal_(isatty(STDERR_FILENO) != 0),
      quiet_seconds_(quiet_seconds),
      shown_(std::chrono::steady_clock::now() - std::chrono::hours(1)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line, bool last) {
  if (!is_rank0_) return;
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    write(ConsoleText::State, "\r\x1b[K" + printable(line));
    open_ = true;
    if (last) clear();
    return;
  }
  if (!last && std::chrono::duration<double>(now - shown_).count() < quiet_seconds_) return;
  shown_ = now;
  write(ConsoleText::Line, printable(line) + "\n");
}

void Progress::write(ConsoleText kind, std::string text) {
  if (!console().write(kind, std::move(text))) lost_ = true;
}

void Progress::clear() {
  if (open_) write(ConsoleText::StateEnd, "\n");
  open_ = false;
}

}  // namespace weft
