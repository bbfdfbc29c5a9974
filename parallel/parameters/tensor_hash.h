// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/context.h"

namespace weft {

// A hash of the tensor's bytes. It takes them in pieces, so that little of the tensor lies on the host at a time, and
// waits for the device.
uint64_t hash_of(Context& context, const Tensor& tensor, uint64_t seed = 0);

}  // namespace weft
