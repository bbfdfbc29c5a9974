// SPDX-License-Identifier: Apache-2.0
#include "parallel/watch/heartbeat.h"

namespace weft {
namespace {
constexpr auto kRelaxed = std::memory_order_relaxed;

template <class Enum>
size_t index(Enum value) {
  return static_cast<size_t>(value);
}
}  // namespace

std::string_view name(RunPhase phase) {
  constexpr EnumTable<RunPhase, std::string_view> kNames = {{RunPhase::Init, "init"},
                                                            {RunPhase::Step, "step"},
                                                            {RunPhase::Save, "save"},
                                                            {RunPhase::Evaluate, "evaluate"},
                                                            {RunPhase::Storage, "storage"}};
  return kNames[phase];
}

void DeviceProgress::write(const Snapshot& from, State& to) {
  to.device = from.device + 1;
  for (size_t i = 0; i < kMeshAxes; ++i) to.queued[i] = from.queued[i], to.done[i] = from.done[i];
}

void DeviceProgress::move_to(State& to) {
  write(read(state()), to);
  state_.store(&to, std::memory_order_release);
}

void DeviceProgress::compute_on(int device) { state().device.store(device + 1, kRelaxed); }

void DeviceProgress::watch(MeshAxis axis, Count done) {
  const std::lock_guard lock(mutex_);
  Axis& one = axes_[index(axis)];
  one.count = std::move(done);
  one.last.resize(kNamed);
}

void DeviceProgress::queue(MeshAxis axis, const QueuedCollective& collective) {
  const std::lock_guard lock(mutex_);
  Axis& one = axes_[index(axis)];
  if (!one.count) return;
  const int64_t before = state().queued[index(axis)].fetch_add(1, kRelaxed);
  one.last[static_cast<size_t>(before) % kNamed] = {order_++, collective};
}

bool DeviceProgress::look() {
  const std::lock_guard lock(mutex_);
  bool risen = false;
  for (size_t i = 0; i < kMeshAxes; ++i) {
    if (!axes_[i].count) continue;
    const auto done = static_cast<int64_t>(axes_[i].count->load(kRelaxed));
    risen = state().done[i].exchange(done, kRelaxed) != done || risen;
  }
  return risen;
}

std::optional<DeviceProgress::Awaited> DeviceProgress::awaited() {
  const std::lock_guard lock(mutex_);
  std::optional<Awaited> first;
  int64_t order = 0;
  for (size_t i = 0; i < kMeshAxes; ++i) {
    const int64_t queued = state().queued[i], done = state().done[i];
    if (done >= queued) continue;
    const bool named = queued - done <= static_cast<int64_t>(kNamed);
    const Axis::Queued& next = axes_[i].last[static_cast<size_t>(done) % kNamed];
    if (first && named && next.order > order) continue;
    order = named ? next.order : -1;  // -1: the collective left the ring, so it is the oldest
    first = {.axis = static_cast<MeshAxis>(i), .place = done + 1, .what = named ? next.what : QueuedCollective{}};
  }
  return first;
}

DeviceProgress::Snapshot DeviceProgress::read(const State& state) {
  Snapshot s{.device = state.device - 1};
  for (size_t i = 0; i < kMeshAxes; ++i) s.queued[i] = state.queued[i], s.done[i] = state.done[i];
  return s;
}

void Heartbeat::write(const Snapshot& from, State& to) {
  to.progress_count = from.progress_count, to.step = from.step, to.phase = from.phase;
  to.waiting = from.waiting, to.axis = from.axis, to.collective = from.collective, to.number = from.number;
  for (size_t i = 0; i < kMeshAxes; ++i) {
    to.begun[i] = from.begun[i], to.group[i] = from.group[i], to.ranks[i] = from.ranks[i];
  }
  DeviceProgress::write(from.device, to.device);
}

void Heartbeat::move_to(State& to, std::shared_ptr<void> owner) {
  write(read(), to);
  device_.move_to(to.device);
  state_.store(&to, std::memory_order_release);
  owner_ = std::move(owner);
}

void Heartbeat::place(MeshAxis axis, int group, int ranks) {
  state().group[index(axis)].store(group, kRelaxed);
  state().ranks[index(axis)].store(ranks, kRelaxed);
}

void Heartbeat::note(MeshAxis axis, Collective collective, int64_t number, bool waiting) {
  State& s = state();
  s.axis.store(axis, kRelaxed);
  s.collective.store(collective, kRelaxed);
  s.number.store(number, kRelaxed);
  s.waiting.store(waiting, kRelaxed);
}

int64_t Heartbeat::begin(MeshAxis axis, Collective collective) {
  const int64_t number = state().begun[index(axis)].fetch_add(1, kRelaxed) + 1;
  note(axis, collective, number, false);
  beat();
  return number;
}

void Heartbeat::wait_for(MeshAxis axis, Collective collective, int64_t number) {
  note(axis, collective, number, true);
  beat();
}

void Heartbeat::go_on() {
  state().waiting.store(false, kRelaxed);
  beat();
}

Heartbeat::Scope::Scope(Heartbeat& heartbeat, RunPhase phase)
    : heartbeat_(heartbeat), before_(heartbeat.state().phase.exchange(phase)) {
  heartbeat_.beat();
}

Heartbeat::Scope::~Scope() {
  heartbeat_.state().phase = before_;
  heartbeat_.beat();
}

Heartbeat::Snapshot Heartbeat::read(const State& state) {
  Snapshot s{
      .progress_count = state.progress_count, .step = state.step, .phase = state.phase, .waiting = state.waiting};
  s.axis = state.axis, s.collective = state.collective, s.number = state.number;
  for (size_t i = 0; i < kMeshAxes; ++i) {
    s.begun[i] = state.begun[i], s.group[i] = state.group[i], s.ranks[i] = state.ranks[i];
  }
  s.device = DeviceProgress::read(state.device);
  return s;
}

}  // namespace weft
