// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "parallel/axis.h"
#include "parallel/communicator.h"

namespace weft {

// What a rank is doing; Storage: it does nothing but wait for data or files of training steps. Each phase has its own
// limit of time without progress, beyond which the watchdog reports a hang.
enum class RunPhase : uint8_t { Init, Step, Save, Evaluate, Storage };
inline constexpr int kPhases = enum_size<RunPhase>();
std::string_view name(RunPhase phase);

// A collective over tensors that was queued on a device.
struct QueuedCollective {
  Collective collective = Collective::Barrier;
  int64_t number = 0;  // number of the collective on its axis
  int64_t bytes = 0;   // bytes of the whole tensor
  CollectiveUse use;
};

// The progress of a rank's device through the collectives queued on it. The host queues whole steps and waits for none
// of them, so the calls that it has begun show nothing; the device counts what it has completed, in memory that any
// thread may read. For each axis this holds how many were queued and completed, and the collectives in between.
class DeviceProgress {
 public:
  using Count = std::shared_ptr<const std::atomic<uint64_t>>;
  // Shared with the node, as Heartbeat::State is.
  struct State {
    std::atomic<int32_t> device{0};  // one more than CUDA's number of the device; 0: the rank computes on its CPU
    std::array<std::atomic<int64_t>, kMeshAxes> queued{}, done{};
  };
  struct Snapshot {
    int32_t device = -1;  // CUDA's number of the device; -1: a CPU
    std::array<int64_t, kMeshAxes> queued{}, done{};
    bool busy() const { return queued != done; }
  };
  // The collective that a device is in on an axis, or reaches next. `place`: its number on that axis, from 1.
  struct Awaited {
    MeshAxis axis = MeshAxis::World;
    int64_t place = 0;
    QueuedCollective what;
  };

  explicit DeviceProgress(State& state) : state_(&state) {}
  // Continues writing in `elsewhere`. For the main thread.
  void move_to(State& elsewhere);
  // For the main thread: compute_on() sets the device; watch() sets the counter of an axis, before its first
  // collective; queue() notes a queued collective, and ignores it on an axis without a counter.
  void compute_on(int device);
  void watch(MeshAxis axis, Count done);
  void queue(MeshAxis axis, const QueuedCollective& collective);
  // For any thread: looks at the counts and puts them where the node's ranks see them; true if a count has risen since
  // the last call.
  bool look();
  // The collective that was queued first, of those that were not completed at the last look().
  std::optional<Awaited> awaited();
  static Snapshot read(const State& state);
  static void write(const Snapshot& from, State& to);

 private:
  // The host runs ahead of its device by as much as the device's queue takes, which is about a thousand launches.
  static constexpr size_t kNamed = 4096;
  struct Axis {
    Count count;
    struct Queued {
      int64_t order = 0;  // place in the order of queueing, over all axes
      QueuedCollective what;
    };
    std::vector<Queued> last;  // ring of the last kNamed collectives
  };
  State& state() const { return *state_.load(std::memory_order_acquire); }

  std::atomic<State*> state_;
  std::mutex mutex_;  // guards the rings below; held for a few instructions
  std::array<Axis, kMeshAxes> axes_;
  int64_t order_ = 0;
};

// Where a rank is: written by its main thread, read at any time by its watchdog and by those of its neighbours.
// A beat is one relaxed atomic addition, so every operation group and collective can afford one.
class Heartbeat {
 public:
  // The state that is written: atomics without locks, so that it may lie in memory that processes share.
  struct State {
    std::atomic<uint64_t> progress_count{0};
    std::atomic<int64_t> step{-1};
    std::atomic<RunPhase> phase{RunPhase::Init};
    std::atomic<bool> waiting{false};
    std::atomic<MeshAxis> axis{MeshAxis::World};
    std::atomic<Collective> collective{Collective::Barrier};
    std::atomic<int64_t> number{0};
    std::array<std::atomic<int64_t>, kMeshAxes> begun{};
    std::array<std::atomic<int32_t>, kMeshAxes> group{}, ranks{};
    DeviceProgress::State device;
    static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<RunPhase>::is_always_lock_free);
  };

  // Continues writing in memory that `owner` keeps alive. For the main thread.
  void move_to(State& elsewhere, std::shared_ptr<void> owner);

  void beat() { state().progress_count.fetch_add(1, std::memory_order_relaxed); }
  void set_step(int64_t step) {
    state().step.store(step, std::memory_order_relaxed);
    beat();
  }
  // The rank's place on an axis: ranks of one group (the same other coordinates) take part in the same collectives.
  void place(MeshAxis axis, int group, int ranks);

  // Called by communicators: begin() when a collective begins (returns its number on the axis, from 1), wait_for() when
  // the caller blocks for it, and go_on() when the caller continues.
  int64_t begin(MeshAxis axis, Collective collective);
  void wait_for(MeshAxis axis, Collective collective, int64_t number);
  void go_on();

  // The collectives that are queued on a device, and the device's progress through them.
  DeviceProgress& device() { return device_; }

  // Sets the phase until the scope ends, which restores the previous phase.
  class Scope {
   public:
    Scope(Heartbeat& heartbeat, RunPhase phase);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Heartbeat& heartbeat_;
    RunPhase before_;
  };

  // A copy at one moment; fields may be of neighbouring moments.
  struct Snapshot {
    uint64_t progress_count = 0;
    int64_t step = -1;  // -1: none yet
    RunPhase phase = RunPhase::Init;
    bool waiting = false;  // true: the rank waits in the collective below; false: that was its last
    MeshAxis axis = MeshAxis::World;
    Collective collective = Collective::Barrier;
    int64_t number = 0;  // 0: none yet
    std::array<int64_t, kMeshAxes> begun{};
    std::array<int32_t, kMeshAxes> group{}, ranks{};
    DeviceProgress::Snapshot device;
  };
  static Snapshot read(const State& state);
  Snapshot read() const { return read(state()); }
  static void write(const Snapshot& from, State& to);

 private:
  State& state() const { return *state_.load(std::memory_order_acquire); }
  void note(MeshAxis axis, Collective collective, int64_t number, bool waiting);

  mutable State own_;
  std::atomic<State*> state_{&own_};
  std::shared_ptr<void> owner_;
  DeviceProgress device_{own_.device};
};

}  // namespace weft
