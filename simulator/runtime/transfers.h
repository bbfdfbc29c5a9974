// SPDX-License-Identifier: Apache-2.0
// Copies and memsets. What the host sees of them depends on where its bytes lie, as the runtime's manual has it ("API
// synchronization behavior"): a copy of pinned memory is only queued; pageable bytes have been read when the call
// returns, and have arrived when it returns.
#pragma once

#include <cstddef>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

enum class Direction { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, ByAddress };

// InvalidValue where `direction` says other than the addresses do.
Status copy(Simulator& all, void* to, const void* from, size_t bytes, Direction direction, Stream& stream);
Status fill(Simulator& all, void* to, int value, size_t bytes, Stream& stream);

}  // namespace weft::cuda_device
