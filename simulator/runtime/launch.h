// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "simulator/machine/dim.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

// <<<grid, block, shared_bytes, stream>>> of the function that the host knows by this address. `arguments`: one
// pointer for each parameter, read before this returns.
Status launch(Simulator& all, const void* function, Dim grid, Dim block, void** arguments, size_t shared_bytes,
              Stream& stream);

// The kernel of a function on a device, read from the program at first use; null: InvalidDeviceFunction. What its PTX
// holds that the simulator does not know ends the program by name.
std::shared_ptr<const Kernel> kernel_of(Simulator& all, const void* function, int device);

// Whether the device is one that PTX of compute_80 can be made code for.
bool has_code(const Simulator& all);

// The most dynamic shared memory that a launch of the function may have: what is left of 48 KiB, or what was asked for.
size_t dynamic_shared_limit(Simulator& all, const void* function, int device);
Status set_dynamic_shared_limit(Simulator& all, const void* function, int device, int bytes);

// Blocks that a multiprocessor could hold by threads and shared memory. Registers are not known here: ptxas decides.
int blocks_per_multiprocessor(const Kernel& kernel, int threads, size_t dynamic_shared_bytes);

}  // namespace weft::cuda_device
