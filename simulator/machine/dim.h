// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::cuda_device {

// The extents of a grid or of a block, or a position in one.
struct Dim {
  uint32_t x = 1, y = 1, z = 1;
  size_t size() const { return size_t{x} * y * z; }
};

}  // namespace weft::cuda_device
