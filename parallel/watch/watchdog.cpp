// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/exit_file.h"
#include "base/process/new_thread.h"
#include "parallel/watch/standstill.h"
#include "parallel/watch/within.h"
#include "parallel/watch/world_status.h"

namespace weft {
namespace {

// The release may hang with the device, and the console or the disk may be what has stopped; the process then ends
// without them.
constexpr std::chrono::seconds kReleaseTakes(5), kLastWordsTake(4);
constexpr std::chrono::milliseconds kBetweenGreetings(50);

}  // namespace

double PhaseBudgets::of(RunPhase phase) const {
  switch (phase) {
    case RunPhase::Init:
      return init_seconds;
    case RunPhase::Step:
      return step_seconds;
    case RunPhase::Save:
      return save_seconds;
    case RunPhase::Evaluate:
      return evaluate_seconds;
    case RunPhase::Storage:
      return storage_seconds;
  }
  return step_seconds;
}

Watchdog::Watchdog(std::shared_ptr<Heartbeat> heartbeat, WatchdogOptions options)
    : heartbeat_(std::move(heartbeat)), options_(std::move(options)) {
  thread_ = new_thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (page_) page_->slot(local_rank_).pid = 0;  // the others no longer count this rank
}

void Watchdog::join(int rank, int local_rank, std::shared_ptr<NodeStatus> page) {
  const std::lock_guard lock(mutex_);
  rank_ = rank, local_rank_ = local_rank, page_ = std::move(page);
  if (!page_) return;
  NodeStatus::Slot& slot = page_->slot(local_rank);
  heartbeat_->move_to(slot.state, page_);
  neighbours_.resize(static_cast<size_t>(page_->local_ranks()));
  slot.rank = rank;
  note_progress();
  slot.pid = getpid();
}

void Watchdog::tell_other_nodes(std::unique_ptr<WorldStatus> world) {
  const std::lock_guard lock(mutex_);
  world_ = std::move(world);
  if (page_ && world_) world_->look(*page_);
}

bool Watchdog::meets_rank0_within(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (!page_ || !world_) return true;
      world_->look(*page_);
      if (world_->met()) return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kBetweenGreetings);
  }
}

void Watchdog::set_budgets(const PhaseBudgets& budgets) {
  const std::lock_guard lock(mutex_);
  options_.budgets = budgets;
}

void Watchdog::rely_on(int rank) {
  const std::lock_guard lock(mutex_);
  leader_ = rank;
}

void Watchdog::before_end(std::function<void()> release) {
  const std::lock_guard lock(mutex_);
  release_ = std::move(release);
}

bool Watchdog::first_to_report() {
  const std::lock_guard lock(mutex_);
  return claim_report();
}

bool Watchdog::claim_report() {
  if (!first_) first_ = !page_ || page_->first_to_report();
  return *first_;
}

std::string Watchdog::standstill() {
  const std::lock_guard lock(mutex_);
  heartbeat_->device().look();
  return stands_at(heartbeat_->read()).text();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  auto before = std::chrono::steady_clock::now();
  const auto poll = std::chrono::duration<double>(options_.poll_seconds);
  while (!changed_.wait_for(lock, poll, [this] { return ending_; })) {
    const auto now = std::chrono::steady_clock::now();
    // A longer gap means that the process did not run in the meantime, so the excess does not count.
    const double passed = std::min(std::chrono::duration<double>(now - before).count(), 4 * options_.poll_seconds + 1);
    before = now;
    if (const auto found = look(passed)) {
      const bool mine = claim_report();
      const std::function<void()> release = std::exchange(release_, {});
      lock.unlock();  // the main thread may return, and end with an error of its own
      return end(*found, mine, release);
    }
  }
}

// The report comes first, since the release may hang too.
void Watchdog::end(const std::string& report, bool mine, const std::function<void()>& release) {
  if (options_.on_hang) {
    options_.on_hang(report);
  } else if (mine) {
    finish_within(kLastWordsTake, [report] {
      write_exit_file(static_cast<int>(ExitCode::PeerDied), fmt::format("{} {}", utc_time(), report));
    });
    finish_within(kLastWordsTake, [report] {
      console().write(ConsoleText::Problem, fmt::format("error: {}\n", report));
      console().flush();
    });
  } else {
    // Another rank reports, and the launcher then ends this rank; if the launcher does not, this rank ends by itself.
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  if (release) finish_within(kReleaseTakes, release);
  if (!options_.on_hang) _exit(static_cast<int>(ExitCode::PeerDied));
}

std::optional<std::string> Watchdog::look(double seconds_passed) {
  if (page_ && world_) world_->look(*page_);
  if (page_) page_->slot(local_rank_).watchdog_ticks.fetch_add(1, std::memory_order_relaxed);
  auto found = hung(seconds_passed);
  auto stopped = stopped_neighbour(seconds_passed);
  if (found) return found;
  if (!stopped) stopped = silent_leader();
  if (stopped) return report(*stopped);
  return std::nullopt;
}

std::optional<std::string> Watchdog::hung(double seconds_passed) {
  const bool device_moved = heartbeat_->device().look();
  Heartbeat::Snapshot now = heartbeat_->read();
  const bool host_moved = now.progress_count != progress_count_;
  progress_count_ = now.progress_count;
  idle_ = host_moved || device_moved ? 0 : idle_ + seconds_passed;
  // Work that the host queues is no progress of a device that completes nothing.
  device_idle_ = device_moved || !now.device.busy() ? 0 : device_idle_ + seconds_passed;
  if (host_moved || device_moved) note_progress();
  const double budget = options_.budgets.of(now.phase);
  if (budget <= 0 || std::max(idle_, device_idle_) < budget) return std::nullopt;
  if (idle_ < budget) now.waiting = false;  // only the device stands still
  const auto at_work = [this](const NodeStatus::Entry& peer) {
    const double theirs = options_.budgets.of(peer.at.phase);
    return !peer.silent() && (theirs <= 0 || peer.idle_seconds() < theirs);
  };
  const Standstill at = stands_at(now);
  if (std::ranges::any_of(at.awaited_ranks(), at_work)) return std::nullopt;
  return report(now, at);
}

// A little longer than a step's budget: a rank that waits for the stopped one in a step has more to report.
double Watchdog::budget_of_stopped() const {
  return options_.budgets.step_seconds > 0 ? options_.budgets.step_seconds + 2
                                           : std::numeric_limits<double>::infinity();
}

std::optional<NodeStatus::Entry> Watchdog::stopped_neighbour(double seconds_passed) {
  if (!page_) return std::nullopt;
  std::optional<NodeStatus::Entry> found;
  for (const NodeStatus::Entry& e : page_->read()) {
    Neighbour& seen = neighbours_[static_cast<size_t>(e.local_rank)];
    seen.idle = e.watchdog_ticks == seen.watchdog_ticks ? seen.idle + seconds_passed : 0;
    seen.watchdog_ticks = e.watchdog_ticks;
    if (seen.idle >= budget_of_stopped()) found = e;
  }
  return found;
}

std::optional<NodeStatus::Entry> Watchdog::silent_leader() const {
  if (!page_ || !leader_) return std::nullopt;
  for (const NodeStatus::Entry& e : page_->others()) {
    if (e.rank == *leader_ && e.silent_seconds() >= budget_of_stopped()) return e;
  }
  return std::nullopt;
}

void Watchdog::note_progress() {
  if (page_) page_->slot(local_rank_).progressed_ns = NodeStatus::now_ns();
}

Standstill Watchdog::stands_at(const Heartbeat::Snapshot& now) const {
  return {now, heartbeat_->device().awaited(), page_.get()};
}

// The name of the rank that reports, at the head of its report.
std::string Watchdog::who() const {
  const int32_t device = heartbeat_->read().device.device;
  return fmt::format("[rank {} {} {}pid {}]", rank_, host_name(), device < 0 ? "" : fmt::format("cuda:{} ", device),
                     getpid());
}

std::string Watchdog::report(const NodeStatus::Entry& stopped) const {
  std::string what = "nothing is heard of the rank that this one works for";
  if (stopped.host.empty()) {
    what = fmt::format("a rank of this machine has not run for {:.0f} s",
                       neighbours_[static_cast<size_t>(stopped.local_rank)].idle);
  }
  return fmt::format(
      "{} {}: {}; the job ends\n  hint: the same command resumes. Under a debugger, set timeouts.step_seconds=0", who(),
      what, describe(stopped));
}

std::string Watchdog::report(const Heartbeat::Snapshot& now, const Standstill& at) const {
  return fmt::format(
      "{0} no progress for {1:.0f} s in {2}; {3}; the job ends\n  hint: look at the rank named here; the same "
      "command resumes from the last checkpoint. If nothing hangs but work takes long, or under a debugger, raise "
      "timeouts.{4}_seconds (--set timeouts.{4}_seconds=3600; 0 means never)",
      who(), std::max(idle_, device_idle_), place_of(now), at.text(), name(now.phase));
}

}  // namespace weft
