// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "kernels/context.h"

namespace weft {

// Adds a tensor's digest to `sum`, modulo 2^64: the sum over its elements of element_digest(key, i, the bits of element
// i) (base/hash.h). It has no order, so every device computes the same. Without a key the elements, of i64, are added
// as they are: the digest of a sum of such tensors is the sum of theirs.
struct AddDigest {
  Tensor x;  // any shape and dtype
  std::optional<uint64_t> key;
  Tensor sum;  // i64[1]
};
void add_digest(Context& context, const AddDigest& args);

}  // namespace weft
