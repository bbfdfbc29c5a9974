// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::cuda {

// How many devices this process sees and, if there are none, the reason.
struct VisibleDevices {
  int count = 0;
  std::string why_none;
};
VisibleDevices visible_devices();

std::string device_name(int device);  // "NVIDIA H100 80GB HBM3, sm_90"
// Whether this build has code that the device runs: machine code for it, or PTX that the driver compiles.
bool has_code_for(int device);
// What a device's multiprocessors have for the blocks that work on them at once; shared memory in bytes.
struct BlockLimits {
  int multiprocessors = 0, threads = 0, blocks = 0;  // the latter two of one multiprocessor
  int shared = 0, shared_of_block = 0;               // of a multiprocessor, and the most that one block may have

  // Blocks of all multiprocessors, at least one on each.
  int64_t blocks_at_once(int threads_of_block, size_t shared_of_each) const;
};
BlockLimits block_limits(int device);

int compute_capability(int device);  // 90: sm_90
std::string runtime_version();       // "CUDA 13.0"

}  // namespace weft::cuda
