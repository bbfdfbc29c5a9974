#include "parallel/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "base/log.h"

namespace weft {
namespace {

int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double seconds_ago(int64_t ns) { return static_cast<double>(steady_ns() - ns) * 1e-9; }

// What the kernel says a process of this node is doing, as in the third field of /proc/PID/stat.
char process_state(int32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? 'X' : text[name_end + 2];
}

const char* words_for(char process_state) {
  switch (process_state) {
    case 'R':
      return "running";
    case 'D':
      return "waiting for a disk or file server";
    case 'T':
    case 't':
      return "stopped by a signal or a debugger";
    case 'Z':
    case 'X':
      return "dead";
    default:
      return "sleeping";
  }
}

std::string place_of(const Heartbeat::Snapshot& at) {
  return fmt::format("phase {}, {}", name(at.phase),
                     at.step < 0 ? "before the first step" : fmt::format("step {}", at.step));
}

std::string collective_of(const Heartbeat::Snapshot& at) {
  return at.number == 0 ? "none" : fmt::format("{} number {} over {}", name(at.collective), at.number, name(at.axis));
}

std::string describe(const NodeStatus::Entry& e) {
  return fmt::format("rank {} (pid {}, {}; {}; {}: {}; last progress {:.0f} s ago)", e.rank, e.pid,
                     words_for(process_state(e.pid)), place_of(e.at), e.at.waiting ? "waiting for" : "last collective",
                     collective_of(e.at), seconds_ago(e.progressed_ns));
}

void end_process(const std::string& report) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, report.data(), report.size());
  _exit(static_cast<int>(ExitCode::PeerDied));
}

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
  }
  return step_seconds;
}

Watchdog::Watchdog(std::shared_ptr<Heartbeat> heartbeat, WatchdogOptions options)
    : heartbeat_(std::move(heartbeat)), options_(std::move(options)) {
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (page_) page_->slot(local_rank_).pid = 0;  // what has left is not missed
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

void Watchdog::set_budgets(const PhaseBudgets& budgets) {
  const std::lock_guard lock(mutex_);
  options_.budgets = budgets;
}

bool Watchdog::first_to_report() {
  const std::lock_guard lock(mutex_);
  return !page_ || page_->first_to_report();
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  auto before = std::chrono::steady_clock::now();
  const auto poll = std::chrono::duration<double>(options_.poll_seconds);
  while (!changed_.wait_for(lock, poll, [this] { return ending_; })) {
    const auto now = std::chrono::steady_clock::now();
    // A longer gap than this means that the process did not run: nothing is known about it.
    const double passed = std::min(std::chrono::duration<double>(now - before).count(), 4 * options_.poll_seconds + 1);
    before = now;
    const auto found = look(passed);
    if (!found) continue;
    if (options_.on_hang) {
      options_.on_hang(*found);
      return;
    }
    if (page_ && !page_->first_to_report()) {
      // Another rank is saying it; the launcher ends this one then. Where it does not, this one ends by itself.
      std::this_thread::sleep_for(std::chrono::seconds(3));
      end_process("");
    }
    end_process(*found);
  }
}

std::optional<std::string> Watchdog::look(double seconds_passed) {
  if (page_) page_->slot(local_rank_).watchdog_ticks.fetch_add(1, std::memory_order_relaxed);
  const bool stands_still = hung(seconds_passed);
  const auto stopped = stopped_neighbour(seconds_passed);
  if (stands_still) return report(heartbeat_->read());
  if (stopped) return report(*stopped);
  return std::nullopt;
}

bool Watchdog::hung(double seconds_passed) {
  const Heartbeat::Snapshot now = heartbeat_->read();
  if (now.progress_count != progress_count_) {
    progress_count_ = now.progress_count;
    idle_ = 0;
    note_progress();
  } else {
    idle_ += seconds_passed;
  }
  const double budget = options_.budgets.of(now.phase);
  if (budget <= 0 || idle_ < budget) return false;
  const auto at_work = [this](const NodeStatus::Entry& peer) {
    const double theirs = options_.budgets.of(peer.at.phase);
    return theirs <= 0 || seconds_ago(peer.progressed_ns) < theirs;
  };
  return std::ranges::none_of(missing(now), at_work);
}

std::optional<NodeStatus::Entry> Watchdog::stopped_neighbour(double seconds_passed) {
  if (!page_) return std::nullopt;
  // A little longer: a rank that waits for the stopped one in a step knows more to report.
  const double budget = options_.budgets.step_seconds + 2;
  std::optional<NodeStatus::Entry> found;
  for (const NodeStatus::Entry& e : page_->read()) {
    Neighbour& seen = neighbours_[static_cast<size_t>(e.local_rank)];
    seen.idle = e.watchdog_ticks == seen.watchdog_ticks ? seen.idle + seconds_passed : 0;
    seen.watchdog_ticks = e.watchdog_ticks;
    if (options_.budgets.step_seconds > 0 && seen.idle >= budget) found = e;
  }
  return found;
}

void Watchdog::note_progress() {
  if (page_) page_->slot(local_rank_).progressed_ns = steady_ns();
}

std::vector<NodeStatus::Entry> Watchdog::group_here(const Heartbeat::Snapshot& now) const {
  if (!page_) return {};
  const auto axis = static_cast<size_t>(now.axis);
  std::vector<NodeStatus::Entry> list = page_->read();
  std::erase_if(list, [&](const NodeStatus::Entry& e) { return e.at.group[axis] != now.group[axis]; });
  return list;
}

std::vector<NodeStatus::Entry> Watchdog::missing(const Heartbeat::Snapshot& now) const {
  if (!now.waiting) return {};
  std::vector<NodeStatus::Entry> list = group_here(now);
  std::erase_if(list,
                [&](const NodeStatus::Entry& e) { return e.at.begun[static_cast<size_t>(now.axis)] >= now.number; });
  return list;
}

// What this rank waits for, and who of its node has not come.
std::string Watchdog::waits_for(const Heartbeat::Snapshot& now) const {
  std::string text = fmt::format("waiting for {}; ", collective_of(now));
  const auto absent = missing(now);
  const int ranks = now.ranks[static_cast<size_t>(now.axis)];
  const auto here = static_cast<int>(group_here(now).size());
  if (absent.empty()) {
    // A rank may have begun the collective and been stopped in the middle of it.
    std::string stopped;
    for (const NodeStatus::Entry& e : group_here(now)) {
      const char state = process_state(e.pid);
      if (state != 'R' && state != 'S') stopped.append(" ").append(describe(e));
    }
    if (!stopped.empty()) return text + "arrived, but stopped in it:" + stopped;
    if (here >= ranks) return text + "all ranks have arrived, so the message passing itself hangs";
    return text +
           fmt::format("{} of {} ranks are of this node and have arrived, so one of another node has not", here, ranks);
  }
  text += "not arrived:";
  for (const NodeStatus::Entry& e : absent) text.append(" ").append(describe(e));
  // Those that have not come may wait, on another axis, for one that waits for none.
  const auto waits = [](const NodeStatus::Entry& e) { return e.at.waiting; };
  if (!std::ranges::all_of(absent, waits)) return text;
  std::string cause;
  for (const NodeStatus::Entry& e : page_->read()) {
    if (!waits(e)) cause.append(" ").append(describe(e));
  }
  return cause.empty() ? text : text + "; in no collective:" + cause;
}

std::string Watchdog::report(const NodeStatus::Entry& stopped) const {
  return fmt::format(
      "error: [rank {} {} pid {}] a rank of this machine has not run for {:.0f} s: {}; the job ends\n  hint: the same "
      "command resumes from the last checkpoint. Under a debugger, set timeouts.step_seconds=0\n",
      rank_, host_name(), getpid(), neighbours_[static_cast<size_t>(stopped.local_rank)].idle, describe(stopped));
}

std::string Watchdog::report(const Heartbeat::Snapshot& now) const {
  std::string where;
  if (now.waiting) {
    where = waits_for(now);
  } else if (now.number == 0) {
    where = "no collective yet: this rank itself does not go on, or MPI's start waits for another one";
  } else {
    where = fmt::format("this rank itself does not go on; last collective: {}", collective_of(now));
  }
  return fmt::format(
      "error: [rank {0} {1} pid {2}] no progress for {3:.0f} s in {4}; {5}; the job ends\n  hint: look at the rank "
      "named "
      "here; the same command resumes from the last checkpoint. Where nothing hangs but work is long, or under a "
      "debugger, raise timeouts.{6}_seconds (--set timeouts.{6}_seconds=3600; 0 means never)\n",
      rank_, host_name(), getpid(), idle_, place_of(now), where, name(now.phase));
}

}  // namespace weft
