// SPDX-License-Identifier: Apache-2.0
// PTX has a register for every value, thousands of them in unrolled code. Registers that are never needed at the same
// time share a place, so that the register files of a block fit into the caches of the simulating processor.
#pragma once

#include "simulator/ptx/module.h"

namespace weft::cuda_device {

// Gives the registers of a kernel, which is complete otherwise, new places; those below `fixed_bytes` keep theirs.
// Returns the size of the register file. Each lane writes only its own part of a register, so the lifetimes are those
// of one thread, however the lanes of a warp diverge.
size_t share_register_places(Kernel& kernel, size_t fixed_bytes);

}  // namespace weft::cuda_device
