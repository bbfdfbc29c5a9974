// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "simulator/machine/dim.h"
#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

// Launches <<<grid, block, shared_bytes, stream>>> of the function with this host address. `arguments`: one pointer
// for each parameter, read before launch() returns.
Status launch(Simulator& all, const void* function, Dim grid, Dim block, void** arguments, size_t shared_bytes,
              Stream& stream);

// The kernel of a function on a device, read from the program at first use; null: InvalidDeviceFunction. If its PTX
// contains anything that the simulator does not know, the program ends with a message that names it.
std::shared_ptr<const Kernel> kernel_of(Simulator& all, const void* function, int device);

// Whether PTX of compute_80 can be compiled for the device.
bool has_code(const Simulator& all);

// The most dynamic shared memory that a launch of the function may have: the rest of 48 KiB, or its opt-in limit.
size_t dynamic_shared_limit(Simulator& all, const void* function, int device);
Status set_dynamic_shared_limit(Simulator& all, const void* function, int device, int bytes);

// The number of blocks that a multiprocessor could hold, by threads and shared memory. Only ptxas knows registers.
int blocks_per_multiprocessor(const Simulator& all, const Kernel& kernel, int threads, size_t dynamic_shared_bytes);

}  // namespace weft::cuda_device
