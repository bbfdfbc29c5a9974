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
// the last process. All of it is atomics that are read one by one: a report may mix neighbouring moments. After the
// slots of the node's own ranks there are some for ranks of other nodes, which one of its watchdogs fills in from their
// messages.
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
    std::atomic<uint64_t> watchdog_ticks{0};  // its watchdog's: they cease when the process is stopped
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
    // Set for ranks of other nodes only: time of the last message, the state that its kernel reports, its host.
    int64_t heard_ns = 0;
    char process_state = 0;
    std::string host;
    double idle_seconds() const;    // since progressed_ns
    double silent_seconds() const;  // since heard_ns; 0 for a rank of this node
    // Several messages in a row are missing: it is stopped, dead or cut off, and does not count as working.
    bool silent() const { return silent_seconds() > kSilentSeconds; }
    // It waits for another rank, on the host or on its device.
    bool waits() const { return at.waiting || at.device.busy(); }
    // The process state as in the third field of /proc/PID/stat; '?' if it is unknown.
    char state() const;
  };
  static constexpr double kSilentSeconds = 5;
  static int64_t now_ns();          // on the clock of progressed_ns
  std::vector<Entry> read() const;  // the ranks of this node
  // Ranks of other nodes: written by the one watchdog that gets their messages, read by all.
  static constexpr size_t kOthers = 64;
  void tell_of_others(std::span<const Entry> others);  // at most kOthers; replaces the previous ones
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
