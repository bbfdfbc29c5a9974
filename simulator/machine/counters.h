// SPDX-License-Identifier: Apache-2.0
// The cost of a launch, counted from real addresses, so that tests can bound it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::cuda_device {

// Global accesses of one width: a request is one instruction of one warp, a sector is 32 bytes that it touches.
struct Traffic {
  uint64_t requests = 0, sectors = 0, wanted_bytes = 0;
  Traffic& operator+=(const Traffic& other);
};

struct Counters {
  uint64_t launches = 0;
  uint64_t instructions = 0;                                          // by warps
  uint64_t lane_instructions = 0;                                     // by active lanes
  static constexpr std::array<size_t, 5> kWidths = {1, 2, 4, 8, 16};  // bytes a lane
  std::array<Traffic, 5> loads, stores;                               // of global memory, by kWidths
  Traffic atomics;
  // Shared memory, stores and loads, ldmatrix and cp.async: cycles are those that bank conflicts leave, 128 bytes each
  // at best; least_cycles is what the distinct bytes would need without any.
  uint64_t shared_requests = 0, shared_cycles = 0, shared_least_cycles = 0;

  uint64_t matrix_products = 0, matrix_loads = 0;  // mma and ldmatrix, by warps
  // Waits for asynchronous copies, by warps, and those that left some in flight: a copy overlaps with work if some do.
  uint64_t copy_waits = 0, waits_with_copies_in_flight = 0;

  Traffic global() const;  // loads and stores of all widths
  Counters& operator+=(const Counters& other);
};

}  // namespace weft::cuda_device
