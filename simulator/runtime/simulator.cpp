// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/simulator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "simulator/runtime/faults.h"

namespace weft::cuda_device {
namespace {

Settings settings_or_end() {
  try {
    return settings_from_environment();
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

// The status that a real device returns after such a report; Success: it would notice nothing.
Status noticed(ReportKind kind) {
  switch (kind) {
    case ReportKind::Bounds:
    case ReportKind::UseAfterFree:
      return Status::IllegalAddress;
    case ReportKind::Alignment:
      return Status::MisalignedAddress;
    case ReportKind::Trap:
      return Status::Assert;
    case ReportKind::Uninitialised:
    case ReportKind::Race:
    case ReportKind::Barrier:
    case ReportKind::AsyncCopy:
    case ReportKind::HostAccess:
    case ReportKind::Runtime:
      break;
  }
  return Status::Success;
}

// A program that collects findings and never reads them ends with an error at exit.
void say_what_was_collected() {
  const std::vector<Report> found = simulator().reports.all();
  if (found.empty()) return simulator().results.write();
  std::fflush(nullptr);
  for (const Report& report : found) std::fprintf(stderr, "simulated CUDA device: %s\n", report.sentence.c_str());
  _exit(Reports::kExitStatus);
}

void write_what_was_counted() {
  try {
    write_counts(simulator().kernels, simulator().settings.counts);
  } catch (const std::exception& error) {
    refuse(error.what());
  }
}

}  // namespace

void refuse(const std::string& sentence) {
  std::fflush(stdout);
  std::fprintf(stderr, "simulated CUDA device: %s\n", sentence.c_str());
  _exit(Reports::kExitStatus);
}

Simulator& simulator() {
  static auto* const the_one = new Simulator;
  return *the_one;
}

ThreadState& this_thread() {
  static thread_local ThreadState state;
  return state;
}

Simulator::Simulator()
    : settings(settings_or_end()),
      schedule(settings.seed),
      memory(schedule.operations(), reports,
             {.devices = std::max(settings.devices, 1), .bytes_per_device = settings.memory}),
      programs(
          [this](int device, const std::string&, std::span<const std::byte> value, size_t) {
            const uint64_t address = memory.allocate(value.size(), device);
            memory.begin(kBeforeAll, device);
            if (std::byte* to = memory.write(address, value.size(), "the initial value of a variable"))
              std::memcpy(to, value.data(), value.size());
            return address;
          },
          settings.contraction),
      results(settings.results),
      failed_(static_cast<size_t>(std::max(settings.devices, 1)), Status::Success) {
  explain_faults();
  std::atexit(say_what_was_collected);
  if (!settings.counts.empty()) std::atexit(write_what_was_counted);
}

bool Simulator::is_managed(const void* p) const {
  const Allocation* found = memory.find(reinterpret_cast<uint64_t>(p));
  return found && managed.contains(found->address);
}

Stream* Simulator::stream_of(const void* handle) {
  const auto number = reinterpret_cast<uint64_t>(handle);
  if (number <= 1) return &schedule.legacy_stream(this_thread().device);
  if (number == 2) refuse("a default stream for each thread (cudaStreamPerThread) is not simulated");
  auto* stream = static_cast<Stream*>(const_cast<void*>(handle));
  return schedule.has(stream) ? stream : nullptr;
}

void Simulator::free(const Allocation& allocation) {
  const uint64_t address = allocation.address;
  const size_t bytes = allocation.bytes;
  const bool pinned = allocation.kind == Allocation::Kind::Pinned;
  memory.free(address);
  managed.erase(address);
  if (pinned) mprotect(reinterpret_cast<void*>(address), bytes, PROT_NONE);  // no other memory shares its pages
}

OpId Simulator::enqueue(Stream& stream, Work work) {
  note_move();
  return schedule.enqueue(stream, checked(stream.device, std::move(work)));
}

Work Simulator::checked(int device, Work work) {
  if (work.again) work.again = [this, device, again = std::move(work.again)] { return checked(device, again()); };
  work.body = [this, device, name = work.name, body = std::move(work.body)](OpId op) {
    note_move();
    if (health(device) != Status::Success) return;
    const size_t found = reports.all().size();
    memory.begin(op, device);
    try {
      if (body) body(op);
    } catch (const std::exception& error) {
      refuse(schedule.operations().describe(op) + ": " + error.what());
    }
    results.add(name, memory);
    const std::vector<Report> all = reports.all();
    if (all.size() > found) results.discard();
    for (size_t k = found; k < all.size(); ++k)
      if (const Status how = noticed(all[k].kind); how != Status::Success) fail(device, how);
  };
  return work;
}

void Simulator::note_move() {
  ++moves_;
  moved_.notify_all();
}

uint64_t Simulator::exchange_moves(bool waits) {
  return elsewhere && elsewhere->any() ? elsewhere->exchange(moves_, waits) : 0;
}

// Returns false if nothing has moved for the whole of the settings' patience, neither here nor, since it was
// `seen_there`, elsewhere. No other process can wake this one, so it polls.
bool Simulator::await_move(uint64_t seen_there, const std::function<bool()>& done) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::seconds(settings.patience);
  const uint64_t seen = moves_;
  while (steady_clock::now() < end) {
    if (exchange_moves(true) != seen_there) return true;
    const auto look = steady_clock::now() + std::chrono::milliseconds(1);
    const auto until = elsewhere && elsewhere->any() ? std::min(look, end) : end;
    if (moved_.wait_until(mutex, until, [&] { return moves_ != seen || done(); })) return true;
  }
  return false;
}

// The progress of other processes is read before this process looks for something to run, so that the wait notices
// progress made after that look.
bool Simulator::run_until(const std::function<bool()>& done) {
  ++waiting_;
  bool moved = true;
  while (moved && !done()) {
    const uint64_t there = exchange_moves(false);
    if (!schedule.step()) moved = await_move(there, done);
  }
  --waiting_;
  exchange_moves(false);
  return moved;
}

void Simulator::fail(int device, Status how) {
  Status& failed = failed_.at(static_cast<size_t>(device));
  if (failed == Status::Success) failed = how;
}

Status Simulator::wait_for(int device, OpId id) {
  if (!run_until([&] { return schedule.finished(id); })) {
    reports.add(ReportKind::Runtime, "deadlock: the host waits, and nothing can run: " + schedule.waiting() +
                                         (elsewhere && elsewhere->any() ? elsewhere->positions() : ""));
    return Status::LaunchTimeout;
  }
  schedule.host_waited(id);
  let_go_of_pinned();
  return health(device);
}

Status Simulator::wait_for(Stream& stream) { return wait_for(stream.device, stream.last); }

Status Simulator::wait_for_device(int device) {
  for (Stream* stream : schedule.streams_of(device))
    if (const Status status = wait_for(device, stream->last); status != Status::Success) return status;
  return health(device);
}

bool Simulator::finished(OpId id) {
  schedule.perhaps_step();
  const bool over = schedule.finished(id);
  exchange_moves(!over || waiting_ > 0);
  if (!over) return false;
  schedule.host_waited(id);
  let_go_of_pinned();
  return true;
}

void Simulator::let_go_of_pinned() {
  pinned.release([this](OpId op) { return schedule.host_knows(op); });
}

void Simulator::run_on_host(OpId op, void (*function)(void*), void* data) {
  const PinnedGuard::Pause pause(pinned, [&](OpId earlier) { return schedule.operations().ordered(earlier, op); });
  function(data);
}

Event& Simulator::create_event() {
  auto event = std::make_unique<Event>();
  Event& made = *event;
  events_[&made] = std::move(event);
  return made;
}
bool Simulator::has(const Event* event) const { return events_.contains(event); }
void Simulator::destroy(Event* event) { events_.erase(event); }

}  // namespace weft::cuda_device
