// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <string_view>

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
    options_.progress({.phase = name_,
                       .done_bytes = std::min(done, total_),
                       .total_bytes = total_,
                       .seconds = std::chrono::duration<double>(last_ - begin_).count()});
  }

  const PrepareOptions& options_;
  std::string_view name_;
  uint64_t total_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_;
};

}  // namespace weft
