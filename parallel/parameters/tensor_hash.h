// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/context.h"

namespace weft {

// A hash of the tensor's bytes. It takes them in pieces, so that little of the tensor lies on the host at a time, and
// waits for the device.
uint64_t hash_of(Context& context, const Tensor& tensor, uint64_t seed = 0);
// The same of these bytes, which a tensor may have had.
uint64_t hash_of(std::span<const std::byte> bytes, uint64_t seed = 0);

// The sum of i64 elements modulo 2^64: that of a sum of tensors is the sum of theirs.
uint64_t sum_of_integers(Context& context, const Tensor& tensor);

}  // namespace weft
