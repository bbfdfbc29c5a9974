// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// "3 s", "2 min 05 s", "1 h 20 min".
std::string format_duration(double seconds);
// "950", "12.3k", "4.56M".
std::string format_count(double value);
// "1 shard", "2 shards": a number of things whose plural ends in s.
std::string counted(int64_t count, std::string_view noun);

// The console of a long job: on a terminal one line that is rewritten in place; elsewhere whole lines, at most one
// every `quiet_seconds`.
class Progress {
 public:
  explicit Progress(bool is_rank0, double quiet_seconds = 10);
  ~Progress();
  void show(const std::string& line, bool last = false);
  // Ends the line that is rewritten in place, so that other output can follow.
  void clear();
  // True once a write to standard error has failed: a closed pipe, a full disk.
  bool lost() const { return lost_; }
  // Wall time left at the pace since construction, when `done` of `total` is reached and the work began at `first`.
  double seconds_left(int64_t first, int64_t done, int64_t total) const;

 private:
  void write(const std::string& text);

  bool is_rank0_, terminal_;
  double quiet_seconds_;
  bool open_ = false, lost_ = false;
  std::chrono::steady_clock::time_point start_, shown_;
};

}  // namespace weft
