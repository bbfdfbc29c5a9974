#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "parallel/axis.h"
#include "parallel/communicator.h"

namespace weft {

// What a rank is about; each phase has a time of its own without progress before the watchdog calls it a hang.
enum class RunPhase : uint8_t { Init, Step, Save, Evaluate };
inline constexpr int kPhases = 4;
std::string_view name(RunPhase phase);

// Where a rank is: written by its main thread, read at any time by its watchdog and by those of its neighbours.
// A beat is one relaxed atomic addition, so every operation group and collective can afford one.
class Heartbeat {
 public:
  // What is written: atomics without locks, so that it may lie in memory that processes share.
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
    static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<RunPhase>::is_always_lock_free);
  };

  // Goes on writing elsewhere, what `owner` keeps alive. For the main thread.
  void move_to(State& elsewhere, std::shared_ptr<void> owner);

  void beat() { state().progress_count.fetch_add(1, std::memory_order_relaxed); }
  void set_step(int64_t step) {
    state().step.store(step, std::memory_order_relaxed);
    beat();
  }
  // The rank's place on an axis: ranks of one group (the same other coordinates) take part in the same collectives.
  void place(MeshAxis axis, int group, int ranks);

  // Called by communicators: a collective begins (returns its number on the axis, from 1), the caller blocks for it,
  // and goes on.
  int64_t begin(MeshAxis axis, Collective collective);
  void wait_for(MeshAxis axis, Collective collective, int64_t number);
  void go_on();

  // The phase until the scope ends, then what it was before.
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
    bool waiting = false;  // for the collective below; else it was the last one
    MeshAxis axis = MeshAxis::World;
    Collective collective = Collective::Barrier;
    int64_t number = 0;  // 0: none yet
    std::array<int64_t, kMeshAxes> begun{};
    std::array<int32_t, kMeshAxes> group{}, ranks{};
  };
  static Snapshot read(const State& state);
  Snapshot read() const { return read(state()); }

 private:
  State& state() const { return *state_.load(std::memory_order_acquire); }
  void note(MeshAxis axis, Collective collective, int64_t number, bool waiting);

  mutable State own_;
  std::atomic<State*> state_{&own_};
  std::shared_ptr<void> owner_;
};

}  // namespace weft
