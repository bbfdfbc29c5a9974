// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel/watch/heartbeat.h"

namespace weft {

// A page of memory that the ranks of one node share, so that the watchdog of each can report where the others are.
// It is an anonymous file of the rank that makes it, opened by the others through /proc: it has no name, and is gone
// with the last process. All of it is atomics that are read one by one: a report may mix neighbouring moments.
// Behind the places of the node's own ranks are some for ranks of other nodes, as one of its watchdogs heard of them.
class NodeStatus {
 public:
  static std::unique_ptr<NodeStatus> create(int local_ranks);  // nullptr if the system has no such files
  // The page that process `pid` made, its descriptor() there; nullptr if it cannot be reached (another container).
  static std::unique_ptr<NodeStatus> open(pid_t pid, int descriptor, int local_ranks);
  ~NodeStatus();
  NodeStatus(const NodeStatus&) = delete;
  NodeStatus& operator=(const NodeStatus&) = delete;

  int descriptor() const { return descriptor_; }
  void close_descriptor();  // once all have opened it
  int local_ranks() const { return local_ranks_; }

  // One rank's place.
  struct alignas(64) Slot {
    std::atomic<int32_t> pid{0};              // 0: none yet
    std::atomic<int32_t> rank{0};             // in the world
    std::atomic<int64_t> progressed_ns{0};    // steady clock: when its watchdog last saw it beat
    std::atomic<uint64_t> watchdog_ticks{0};  // of its watchdog: they cease when the process is stopped
    Heartbeat::State state;
  };
  Slot& slot(int local_rank) const;
  // A copy of the places that are taken.
  struct Entry {
    int32_t pid = 0, rank = 0;
    int local_rank = 0;
    int64_t progressed_ns = 0;
    uint64_t watchdog_ticks = 0;
    Heartbeat::Snapshot at;
    // Of a rank of another node alone: when its watchdogs were last heard, what its kernel said of it, where it runs.
    int64_t heard_ns = 0;
    char process_state = 0;
    std::string host;
    double idle_seconds() const;    // since progressed_ns
    double silent_seconds() const;  // since heard_ns; 0 for a rank of this node
    // Nothing was heard of it for several words: it is stopped, or dead, or cut off; it does not count as at work.
    bool silent() const { return silent_seconds() > kSilentSeconds; }
    // For another rank, on the host or on its device.
    bool waits() const { return at.waiting || at.device.busy(); }
    // What the kernel says it is doing, as in the third field of /proc/PID/stat; '?' where nobody says.
    char state() const;
  };
  static constexpr double kSilentSeconds = 5;
  static int64_t now_ns();          // of the clock that progressed_ns is of
  std::vector<Entry> read() const;  // the ranks of this node
  // Ranks of other nodes: for the one watchdog that hears of them, and for all that read.
  static constexpr size_t kOthers = 64;
  void tell_of_others(std::span<const Entry> others);  // at most kOthers; in place of those before
  std::vector<Entry> others() const;
  // True once per node, for the first rank that asks: that rank reports for all of them.
  bool first_to_report();

 private:
  struct Layout;
  struct Other;
  Other& other(size_t index) const;
  NodeStatus(int descriptor, void* memory, int local_ranks);
  static std::unique_ptr<NodeStatus> map(int descriptor, int local_ranks);
  int descriptor_;
  Layout* layout_;
  int local_ranks_;
};

}  // namespace weft
