// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// c = op(a) op(b) (+ c if Add), with row-major matrices [rows, columns]. dtypes: all f32, all bf16, all f64, or a and b
// bf16 with c f32. bf16 accumulates in fp32.
struct Matmul {
  Tensor a, b, c;
  bool transpose_a = false;
  bool transpose_b = false;
  Accumulate mode = Accumulate::Overwrite;
};
void matmul(Context& context, const Matmul& args);

}  // namespace weft
