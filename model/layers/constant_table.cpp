// SPDX-License-Identifier: Apache-2.0
#include "model/layers/constant_table.h"

#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

namespace weft {

Tensor constant_table(Context& context, std::span<const float> values, const Shape& shape, DType dtype) {
  const Tensor exact = to_device(context, values).view(shape);
  if (dtype == DType::F32) return exact;
  const Tensor rounded = context.empty(shape, dtype);
  convert(context, exact, rounded);
  return rounded;
}

}  // namespace weft
