#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/heartbeat.h"

namespace weft {

// A page of memory that the ranks of one node share, so that the watchdog of each can report where the others are.
// It is an anonymous file of the rank that makes it, opened by the others through /proc: it has no name, and is gone
// with the last process. All of it is atomics that are read one by one: a report may mix neighbouring moments.
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
    double idle_seconds() const;  // since progressed_ns
  };
  static int64_t now_ns();  // of the clock that progressed_ns is of
  std::vector<Entry> read() const;
  // True for the first rank of the node that asks: it is_rank0 for all.
  bool first_to_report();

 private:
  struct Layout;
  NodeStatus(int descriptor, void* memory, int local_ranks);
  static std::unique_ptr<NodeStatus> map(int descriptor, int local_ranks);
  int descriptor_;
  Layout* layout_;
  int local_ranks_;
};

}  // namespace weft
