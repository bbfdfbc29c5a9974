// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/progress.h"
#include "data/prepare/prepare.h"

namespace weft {

// Reports the progress of a phase to the caller of prepare(): as it begins, a few times a second, and at its end.
class PhaseProgress {
 public:
  PhaseProgress(const PrepareOptions& options, std::string_view name, uint64_t total_bytes)
      : options_(options), name_(name), total_(total_bytes) {
    report(0);
  }
  void tick(uint64_t done) {
    if (options_.progress && Clock::now() - last_ >= kBetweenReports) report(done);
  }
  void done() { report(total_); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetweenReports{200};

  void report(uint64_t done) {
    last_ = Clock::now();
    if (!options_.progress) return;
    done = std::min(done, total_);
    const double seconds = std::chrono::duration<double>(last_ - begin_).count();
    pace_.reach(static_cast<double>(done), seconds);
    options_.progress({.phase = name_,
                       .done_bytes = done,
                       .total_bytes = total_,
                       .seconds = seconds,
                       .bytes_per_second = pace_.per_second(),
                       .seconds_left = pace_.seconds_left(static_cast<double>(total_))});
  }

  const PrepareOptions& options_;
  std::string_view name_;
  uint64_t total_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_;
  Pace pace_;
};

}  // namespace weft
