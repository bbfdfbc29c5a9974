// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// out[c] = sum over rows of x[r, c] (+ out[c] if Add), in a fixed order; out has the accumulator dtype.
struct SumRows {
  Tensor x, out;
  Accumulate mode = Accumulate::Overwrite;
};
void sum_rows(Context& context, const Tensor& x, const Tensor& out, Accumulate mode);

// out[0] (f64) = the sum of x (+ out[0] if Add), in a fixed order.
struct SumAll {
  Tensor x, out;
  Accumulate mode = Accumulate::Overwrite;
};
void sum_all(Context& context, const Tensor& x, const Tensor& out, Accumulate mode = Accumulate::Overwrite);

}  // namespace weft
