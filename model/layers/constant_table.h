// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "kernels/context.h"

namespace weft {

// A table of numbers that no one trains, computed on the host: on the context's device, rounded to `dtype`.
Tensor constant_table(Context& context, std::span<const float> values, const Shape& shape, DType dtype);

}  // namespace weft
