// SPDX-License-Identifier: Apache-2.0
// The order in which accesses happened, in numbers small enough to be kept for every word of memory.
//
// A *run* is a stretch of execution whose accesses share a place in that order: an operation that is no launch is one
// run; a block of a launch begins one, and another at each of its barriers. Runs are numbered as they execute, one at a
// time, so the runs of an operation, and those of a block, are an interval. History keeps which operation has which
// interval; operations that every later one is ordered after are merged into kBeforeAll.
#pragma once

#include <cstdint>
#include <vector>

#include "simulator/machine/happens_before.h"

namespace weft::cuda_device {

using RunId = uint32_t;
constexpr RunId kNever = 0;     // "no access so far"
constexpr RunId kFirstRun = 1;  // the run of kBeforeAll

struct RunRange {
  RunId first = 0, end = 0;
  bool contains(RunId run) const { return run - first < end - first; }
};

class History {
 public:
  History() : entries_{{kFirstRun, kBeforeAll}} {}

  // Begins an operation, and returns its first run.
  RunId begin(OpId op);
  // Begins another run of the executing operation.
  RunId next_run();
  RunId current_run() const { return last_; }

  OpId op_of(RunId run) const;
  bool remembers(OpId op) const;
  // Runs of operations that the executing operation `op` is not ordered after: apart from each other, and ascending.
  std::vector<RunRange> unordered_before(OpId op, const HappensBefore& order) const;

  void forget_settled(const HappensBefore& order);
  // True once the list has doubled since the last search for settled operations: then a search costs little per
  // begin().
  bool grown() const { return entries_.size() > look_again_; }

  // Run numbers are nearly used up: renumber() then gives each finished operation one number. Every stamp in memory
  // must be translated by the result, which maps an old number to the new one.
  bool crowded() const { return last_ > kCrowded; }
  class Renumbering {
   public:
    RunId operator()(RunId old) const;

   private:
    friend class History;
    std::vector<RunId> firsts_;  // first runs of the old intervals; the k-th becomes number kFirstRun + k
  };
  Renumbering renumber();
  size_t size() const { return entries_.size(); }

 private:
  static constexpr RunId kCrowded = 3'000'000'000u;  // a launch may take the remaining 1.3e9

  struct Entry {
    RunId first;  // its runs end at the next entry's
    OpId op;
  };
  std::vector<Entry> entries_;
  RunId last_ = kFirstRun;
  size_t look_again_ = 64;  // number of entries at which settled ones are searched
};

}  // namespace weft::cuda_device
