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

// The kernel of a function on a device, read from the program at first use; null: InvalidDeviceFunction. If its PTX
// holds anything that the simulator does not know, the program ends with its name.
std::shared_ptr<const Kernel> kernel_of(Simulator& all, const void* function, int device);

// Whether PTX of compute_80 can be compiled for the device.
bool has_code(const Simulator& all);

// The most dynamic shared memory that a launch of the function may have: the rest of 48 KiB, or what it opted in to.
size_t dynamic_shared_limit(Simulator& all, const void* function, int device);
Status set_dynamic_shared_limit(Simulator& all, const void* function, int device, int bytes);

// Blocks that a multiprocessor could hold by threads and shared memory. ptxas alone knows the registers.
int blocks_per_multiprocessor(const Kernel& kernel, int threads, size_t dynamic_shared_bytes);

}  // namespace weft::cuda_device
