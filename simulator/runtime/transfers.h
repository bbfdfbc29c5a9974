// SPDX-License-Identifier: Apache-2.0
// Copies and memsets. As the runtime's manual says ("API synchronization behavior"), the kind of the host's memory
// decides when the host sees them: a copy of pinned memory is only queued; pageable bytes have been read, or have
// arrived, when the call returns.
#pragma once

#include <cstddef>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

enum class Direction { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, ByAddress };

// Copies; InvalidValue if `direction` contradicts the addresses.
Status copy(Simulator& all, void* to, const void* from, size_t bytes, Direction direction, Stream& stream);
Status fill(Simulator& all, void* to, int value, size_t bytes, Stream& stream);

}  // namespace weft::cuda_device
