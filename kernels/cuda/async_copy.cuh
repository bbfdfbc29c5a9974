// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// Asynchronous copies into shared memory (PTX manual, cp.async; from sm_80 on).
namespace weft::cuda {

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// The copies that a thread has asked for since its last commit are a group, and wait_for_copies<N> waits for all but
// the last N groups. Other threads see them after a barrier.
__device__ inline void copy_16_later(void* to, const void* from, bool wanted) {  // unwanted: 16 bytes of 0
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(wanted ? 16 : 0)
               : "memory");
}
__device__ inline void copy_4_later(void* to, const void* from, bool wanted) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(to)), "l"(from), "r"(wanted ? 4 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace weft::cuda
