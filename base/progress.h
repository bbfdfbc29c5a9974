// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process/console.h"

namespace weft {

// "3 s", "2 min 05 s", "1 h 20 min".
std::string format_duration(double seconds);
// "950", "12.3k", "4.56M".
std::string format_count(double value);
// "1 shard", "2 shards": a number of things whose plural ends in s.
std::string counted(int64_t count, std::string_view noun);

// How fast a long job has been lately: over the last 60 s, or over its last step where a step takes longer. Warm-up
// ages out. A pause far longer than a step does not count: a suspended process, a long evaluation.
class Pace {
 public:
  // `done` units of the work are done at `now`, in seconds of any clock that is never set back. If less is done than
  // before, the pace is measured from here.
  void reach(double done, double now = steady_seconds());
  // Units per second; 0 until work has been done between two calls of reach().
  double per_second() const;
  // Seconds until `total` units are done; NaN if the pace is unknown.
  double seconds_left(double total) const;

  static constexpr double kSpan = 60;  // seconds
  static constexpr int kMarks = 200;
  // A pause is longer than this, and than this many times the usual time between two marks.
  static constexpr double kPauseSeconds = 10, kPauseTimes = 20;

 private:
  struct Mark {
    double done = 0, time = 0;
  };
  void leave_out_pause(const Mark& now);

  std::deque<Mark> marks_;  // the newest last; older ones are at least kSpan / kMarks apart
};

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

 private:
  void write(ConsoleText kind, std::string text);

  bool is_rank0_, terminal_;
  double quiet_seconds_;
  bool open_ = false, lost_ = false;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace weft
