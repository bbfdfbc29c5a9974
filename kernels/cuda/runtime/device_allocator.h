// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "kernels/memory.h"

namespace weft::cuda {

// A device's memory, for a MemoryPool, which keeps what is given back: a warm training step asks the device for
// nothing.
std::shared_ptr<Allocator> device_allocator(int device);
// Of the host's memory, pinned: a device copies to and from it on its own. To the host it is memory like any other.
std::shared_ptr<Allocator> pinned_allocator(int device);

}  // namespace weft::cuda
