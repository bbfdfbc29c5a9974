// SPDX-License-Identifier: Apache-2.0
// Ranks that are processes: each has its own simulated devices, and the processes exchange their progress.
#pragma once

#include <memory>

#include "simulator/libraries/nccl/clique.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

// From now on this process and those of the clique's other ranks wait for each other.
void join_processes(Simulator& all, const std::shared_ptr<Clique>& clique);

}  // namespace weft::cuda_device
