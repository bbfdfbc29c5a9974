// SPDX-License-Identifier: Apache-2.0
// Loads and stores of a warp: the address of each lane's bytes, checked, with the traffic counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "simulator/machine/warp.h"

namespace weft::cuda_device {

struct Access {
  Space space = Space::Generic;  // Generic, Global, Const, Shared or Local
  int bytes = 4;                 // per lane: a power of two up to 16
  Touch kind = Touch::Read;
  bool counted = true;
  bool whole_warp = false;  // ldmatrix, wmma: all lanes read the bytes that one lane addresses
};

// The addresses of the lanes' bytes. A lane whose access is wrong is reported and is missing in `good`.
struct Reached {
  uint32_t good = 0;
  std::array<std::byte*, kLanes> at;
  std::byte* first = nullptr;  // if not null: the bytes of all active lanes follow it in order
};

using Addresses = std::array<uint64_t, kLanes>;
Addresses addresses_of(const Warp& w, const Operand& o);  // the addresses of all lanes, active or not

Reached reach(Warp& w, const Instruction& i, const Addresses& addresses, const Access& access);

// Checks the access of a single lane and returns its bytes.
std::byte* reach_lane(Warp& w, const Instruction& i, int lane, uint64_t address, const Access& access);

enum class Pattern { SideBySide, OnePlace, Scattered };
void count_traffic(Counters& counters, uint32_t exec, const Addresses& addresses, Pattern pattern,
                   const Access& access);

}  // namespace weft::cuda_device
