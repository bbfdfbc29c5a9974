// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/memory.h"

namespace weft::cuda {

// A device's memory, for a MemoryPool, which keeps released blocks: a warm training step allocates nothing on the
// device.
std::shared_ptr<Allocator> device_allocator(int device);
// Pinned host memory: a device copies to and from it on its own. The host uses it like any other memory.
std::shared_ptr<Allocator> pinned_allocator(int device);

}  // namespace weft::cuda
