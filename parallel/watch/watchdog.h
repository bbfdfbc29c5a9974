// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/config/fields.h"
#include "parallel/watch/node_status.h"

namespace weft {

class Standstill;
class WorldStatus;

// Seconds without progress in each phase after which a rank hangs; 0 means never. A job's section `timeouts`.
struct PhaseBudgets {
  double init_seconds = 300;
  double step_seconds = 50;
  double save_seconds = 600;
  double evaluate_seconds = 300;
  double storage_seconds = 600;

  template <class Visitor>
  void fields(Visitor& v) {
    constexpr Range kSeconds{.min = 0, .max = 1e9};
    v.field("init_seconds", init_seconds,
            "Seconds without progress while a run begins or resumes that end it; 0 means never.", kSeconds);
    v.field("step_seconds", step_seconds,
            "Seconds without progress in training steps that end the run (each operation is progress); 0 means never.",
            kSeconds);
    v.field("save_seconds", save_seconds, "Seconds without progress in a checkpoint that end the run; 0 means never.",
            kSeconds);
    v.field("evaluate_seconds", evaluate_seconds,
            "Seconds without progress in an evaluation or in generations that end the run; 0 means never.", kSeconds);
    v.field("storage_seconds", storage_seconds,
            "Seconds of waiting for the data of a step or for metrics.jsonl that end the run; 0 means never.",
            kSeconds);
  }

  double of(RunPhase phase) const;
};

struct WatchdogOptions {
  PhaseBudgets budgets;
  double poll_seconds = 0.25;
  // Called on a hang. Default: the first rank of the node that sees a hang writes the report to the exit file
  // (base/process/exit_file.h) and to the console, and the process ends within seconds with exit code 5, whatever its
  // other threads, the disk and the console are stuck in.
  std::function<void(const std::string& report)> on_hang;
};

// A separate thread that ends a rank whose heartbeat has stopped for longer than its phase may take, so that no job
// hangs in silence: under a launcher one rank's end ends all. It calls no MPI and takes no lock that another thread of
// the process could hold for long. A rank that waits in a collective keeps waiting while a rank that has not reached it
// still works: slow is not hung. The status of ranks of other nodes comes from their watchdogs' messages over the
// network; a rank for which several messages are missing does not count as working. (If no message ever comes, the
// budget must exceed the slowest rank's lag.) If a rank computes on a device, everything that its main thread queues is
// a beat, and so is each collective that the device completes; but a device with collectives in its queue that
// completes none of them for a phase's budget hangs, whatever is queued meanwhile. A process of the node that was
// stopped as a whole is distinguished from one that works or waits long: its own watchdog no longer runs. A stopped
// process ends the job after the budget of a step, whatever the phase. Time in which this process itself was stopped (a
// debugger, a suspended job) does not count.
class Watchdog {
 public:
  Watchdog(std::shared_ptr<Heartbeat> heartbeat, WatchdogOptions options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Sets this rank's identity; from now on the heartbeat beats on the page, if there is one, and the other ranks' state
  // is read there. For the main thread.
  void join(int rank, int local_rank, std::shared_ptr<NodeStatus> page);
  // For the first rank of each node, after join(): from now on this watchdog keeps those of other nodes up to date.
  void tell_other_nodes(std::unique_ptr<WorldStatus> world);
  // Waits until rank 0's watchdog has answered, so that its silence is noticed from then on. False if it does not
  // answer for these seconds; true at once for a rank whose watchdog sends it nothing. After tell_other_nodes().
  bool meets_rank0_within(double seconds);
  // Changes the budgets, to those of a checkpoint's job once it is read.
  void set_budgets(const PhaseBudgets& budgets);
  // From now on this rank works for `rank` and waits for its orders in no collective, so that its own beats say nothing
  // of that rank: if that rank is of another node, and its watchdog sends no message for the budget of a step, the job
  // ends. (One of this node that is stopped ends it anyway.)
  void rely_on(int rank);
  // `release` runs before a hang ends the process, after the report: it frees the threads that hang, so that devices
  // are left in order. It has its own thread, and a few seconds at most.
  void before_end(std::function<void()> release);
  // False if another rank of the node has reported an end already. The first answer is kept for later calls.
  bool first_to_report();
  // Describes what this rank waits for, and which ranks keep it waiting, for the message of an error other than a hang.
  std::string standstill();

 private:
  void run();
  // Adds the last `seconds_passed` to the counts; returns a report if the process must end.
  std::optional<std::string> look(double seconds_passed);
  std::optional<std::string> hung(double seconds_passed);
  std::optional<NodeStatus::Entry> stopped_neighbour(double seconds_passed);
  std::optional<NodeStatus::Entry> silent_leader() const;
  double budget_of_stopped() const;
  void note_progress();
  void end(const std::string& report, bool mine, const std::function<void()>& release);
  bool claim_report();
  Standstill stands_at(const Heartbeat::Snapshot& now) const;
  std::string who() const;
  std::string report(const Heartbeat::Snapshot& now, const Standstill& at) const;
  std::string report(const NodeStatus::Entry& stopped) const;

  std::shared_ptr<Heartbeat> heartbeat_;
  WatchdogOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  int rank_ = 0, local_rank_ = 0;
  std::shared_ptr<NodeStatus> page_;
  std::unique_ptr<WorldStatus> world_;
  uint64_t progress_count_ = 0;
  // Seconds in which this process ran: idle_ since the last beat of the host or of its device; device_idle_ since the
  // device last completed a collective, while it has any in its queue.
  double idle_ = 0, device_idle_ = 0;
  std::function<void()> release_;
  std::optional<int> leader_;  // see rely_on()
  std::optional<bool> first_;  // whether this rank reports; unset before the first claim_report()
  struct Neighbour {
    uint64_t watchdog_ticks = 0;
    double idle = 0;  // seconds since its last tick in which this process ran
  };
  std::vector<Neighbour> neighbours_;  // by local rank
  std::jthread thread_;
};

}  // namespace weft
