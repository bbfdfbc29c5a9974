// SPDX-License-Identifier: Apache-2.0
#include "base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "base/clock.h"
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

Progress::Progress(bool is_rank0, double quiet_seconds)
    : is_rank0_(is_rank0),
      terminal_(isatty(STDERR_FILENO) != 0),
      quiet_seconds_(quiet_seconds),
      start_(std::chrono::steady_clock::now()),
      shown_(start_ - std::chrono::hours(1)) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& line, bool last) {
  if (!is_rank0_) return;
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    write("\r\x1b[K" + line);
    open_ = true;
    if (last) clear();
    return;
  }
  if (!last && std::chrono::duration<double>(now - shown_).count() < quiet_seconds_) return;
  shown_ = now;
  write(line + "\n");
}

void Progress::write(const std::string& text) {
  if (!write_lines(STDERR_FILENO, text)) lost_ = true;
}

void Progress::clear() {
  if (open_) write("\n");
  open_ = false;
}

double Progress::seconds_left(int64_t first, int64_t done, int64_t total) const {
  const double spent = seconds_since(start_);
  return done > first ? spent / static_cast<double>(done - first) * static_cast<double>(total - done) : 0;
}

}  // namespace weft
