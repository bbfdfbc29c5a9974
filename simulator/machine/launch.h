// SPDX-License-Identifier: Apache-2.0
// Runs one launch of one kernel: blocks in a random order and one at a time, their warps interleaved at random, lanes
// in lock step. Lanes that diverge continue from the lowest program counter and meet when their counters do. All lanes
// of a warp that have not ended must reach a barrier of the block together; warps that wait at different barriers are
// not noticed. A kernel that waits for another block does not end.
#pragma once

#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "simulator/machine/counters.h"
#include "simulator/machine/dim.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/reports.h"
#include "simulator/ptx/module.h"

namespace weft::cuda_device {

struct Launch {
  std::shared_ptr<const Kernel> kernel;
  Dim grid, block;
  std::vector<std::byte> parameters;  // Kernel::parameter_bytes bytes, each parameter at its offset
  size_t dynamic_shared_bytes = 0;
  int device = 0;
  uint32_t environment = 0;  // %envreg0, whose value is the driver's
  OpId op = kBeforeAll;
};

// Begins the operation `launch.op` in `memory`. The same `random` state gives the same schedule. The caller checks that
// the device accepts such a launch (threads, shared memory). Findings go to memory.reports(); a wrong access is skipped
// and the lane continues. Throws std::runtime_error at an instruction that cannot be simulated.
Counters run_launch(const Launch& launch, Memory& memory, std::mt19937_64& random);

}  // namespace weft::cuda_device
