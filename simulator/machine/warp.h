// SPDX-License-Identifier: Apache-2.0
// The state of a running launch: a block, its warps, and the data that instructions need to work on them.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "simulator/machine/launch.h"
#include "simulator/machine/releases.h"

namespace weft::cuda_device {

struct Block;

// A cp.async of a warp in flight: nothing may use its bytes in shared memory until their lane waits for them.
struct AsyncCopy {
  uint32_t lanes = 0;
  int32_t pc = 0;     // the position of its instruction
  uint8_t bytes = 0;  // per lane
  std::array<uint64_t, kLanes> to;
  std::array<const std::byte*, kLanes> from;
  std::array<uint8_t, kLanes> wanted;  // the rest of the bytes becomes zero
  std::array<uint32_t, kLanes> group;  // the group with which each lane's copy is committed
};

struct Warp {
  struct Group {  // diverged lanes, and the counter at which they continue
    int32_t pc = 0;
    uint32_t lanes = 0;
    bool waits = false;  // there, for lanes that the instruction names
  };

  std::byte* registers = nullptr;
  Block* block = nullptr;
  int index = 0;
  uint32_t exec = 0;   // lanes of the current instruction: those of the group whose guard is true
  uint32_t group = 0;  // lanes at `pc`
  int32_t pc = 0;
  std::vector<Group> others;  // at higher program counters, or waiting
  uint32_t moment = 0;        // warp barriers since the block's last barrier
  bool at_barrier = false, done = false;
  uint32_t fenced = 0;  // lanes that have executed a fence for the whole device

  std::vector<AsyncCopy> copies;
  std::array<uint32_t, kLanes> committed = {};  // groups of copies, by lane

  uint32_t living() const {
    uint32_t lanes = group;
    for (const Group& o : others) lanes |= o.lanes;
    return lanes;
  }
  int first_lane() const { return std::countr_zero(exec); }
  uint32_t thread(int lane) const { return uint32_t(index * kLanes + lane); }

  template <class T>
  T* lanes(const Operand& o) const {
    return reinterpret_cast<T*>(registers + o.place);
  }
  uint32_t predicate(const Operand& o) const {
    uint32_t mask;
    std::memcpy(&mask, registers + o.place, sizeof mask);
    return o.negate ? ~mask : mask;
  }
  void set_predicate(const Operand& o, uint32_t truth) {
    auto* mask = reinterpret_cast<uint32_t*>(registers + o.place);
    *mask = (*mask & ~exec) | (truth & exec);
  }
};

struct Block {
  const Launch* launch = nullptr;
  Memory* memory = nullptr;
  Counters* counters = nullptr;
  Releases* releases = nullptr;
  uint32_t number = 0;       // within the grid
  size_t blocks_before = 0;  // blocks of the launch that ran before
  Accessor global, shared;   // this block as the author of accesses, without thread and moment
  std::vector<Release> acquired;
  std::vector<std::byte> shared_bytes, local_bytes;
  Shadow shared_shadow;
  std::vector<Warp> warps;
  uint32_t yes = 0, asked = 0;                    // predicates contributed to a barrier that reduces them
  std::array<const Allocation*, 64> recent = {};  // the allocations last found by the instructions at these counters

  const Kernel& kernel() const { return *launch->kernel; }
  // Ends the run of the block: at a barrier, or when the block publishes its work.
  void next_run();
};

// Reports "layer_norm.cu:41: layer_norm block (3,0,0) thread (64,0,0): <what> [...]" of the current instruction.
void report(const Warp& w, const Instruction& i, int lane, ReportKind kind, const std::string& what);

// Calls `f` for each active lane. A whole warp is one loop that vectorises.
template <class F>
inline void for_lanes(uint32_t exec, F&& f) {
  if (exec == kAllLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) f(l);
  } else {
    for (uint32_t m = exec; m; m &= m - 1) f(std::countr_zero(m));
  }
}
// Calls `f` for each active lane, one after the other: for work that is long or may stop at an error.
template <class F>
inline void for_each_lane(uint32_t exec, F&& f) {
  for (uint32_t m = exec; m; m &= m - 1) f(std::countr_zero(m));
}

}  // namespace weft::cuda_device
