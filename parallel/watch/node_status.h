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

// A page of memory that the ranks of one node share, so that the watchdog of each can report where the others are. It
// is an anonymous file of the rank that makes it, opened by the others through /proc: it has no name, and is gone with
// the last process. The page holds only atomics, which are read one by one: a report may mix neighbouring moments.
// After the slots of the node's own ranks there are slots for ranks of other nodes, which one of the node's watchdogs
// fills in from their messages.
class NodeStatus {
 public:
  static std::unique_ptr<NodeStatus> create(int local_ranks);  // nullptr if the system has no such files
  // Opens the page that process `pid` made under its descriptor(); nullptr if it is unreachable (another container).
  static std::unique_ptr<NodeStatus> open(pid_t pid, int descriptor, int local_ranks);
  ~NodeStatus();
  NodeStatus(const NodeStatus&) = delete;
  NodeStatus& operator=(const NodeStatus&) = delete;

  int descriptor() const { return descriptor_; }
  void close_descriptor();  // call it once all ranks have opened the page
  int local_ranks() const { return local_ranks_; }

  // The slot of one rank.
  struct alignas(64) Slot {
    std::atomic<int32_t> pid{0};              // 0: the slot is not taken
    std::atomic<int32_t> rank{0};             // rank in the world
    std::atomic<int64_t> progressed_ns{0};    // steady clock: when the rank's watchdog last saw a beat
    std::atomic<uint64_t> watchdog_ticks{0};  // ticks of the rank's watchdog, which cease when the process is stopped
    Heartbeat::State state;
  };
  Slot& slot(int local_rank) const;
  // A copy of a slot that is taken.
  struct Entry {
    int32_t pid = 0, rank = 0;
    int local_rank = 0;
    int64_t progressed_ns = 0;
    uint64_t watchdog_ticks = 0;
    Heartbeat::Snapshot at;
    // Set for ranks of other nodes only: time of the last message, process state from that node's kernel, host.
    int64_t heard_ns = 0;
    char process_state = 0;
    std::string host;
    double idle_seconds() const;    // seconds since progressed_ns
    double silent_seconds() const;  // seconds since heard_ns; 0 for a rank of this node
    // Several messages in a row are missing: the rank is stopped, dead or cut off, and does not count as working.
    bool silent() const { return silent_seconds() > kSilentSeconds; }
    // The rank waits for another rank, on the host or on its device.
    bool waits() const { return at.waiting || at.device.busy(); }
    // The process state as in the third field of /proc/PID/stat; '?' if it is unknown.
    char state() const;
  };
  static constexpr double kSilentSeconds = 5;
  static int64_t now_ns();          // ns, on the clock of progressed_ns
  std::vector<Entry> read() const;  // the ranks of this node
  // Ranks of other nodes: written by the one watchdog that gets their messages, read by all watchdogs of the node.
  static constexpr size_t kOthers = 64;
  void tell_of_others(std::span<const Entry> others);  // at most kOthers; replaces the previous ones
  std::vector<Entry> others() const;
  // True once per node, for the first call; the rank that made the call then reports for all ranks of the node.
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
