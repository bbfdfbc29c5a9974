#pragma once
#include "kernels/context.h"

namespace weft {

// out[c] = sum over rows of x[r, c] (added to what is there if Add), in a fixed order; out of the accumulator dtype.
void sum_rows(Context& context, const Tensor& x, const Tensor& out, Accumulate mode);
// out[0] (f64) = sum of x, in a fixed order.
void sum_all(Context& context, const Tensor& x, const Tensor& out);

}  // namespace weft
