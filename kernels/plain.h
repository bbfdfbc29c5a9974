#pragma once
#include "kernels/context.h"

namespace weft {

void fill(Context& context, Tensor t, double value);
// to = from, converting between floating dtypes (rounding to nearest even) where they differ.
void convert(Context& context, const Tensor& from, const Tensor& to);
// y += scale x, same dtype and elements.
void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y);
// y = scale y.
void scale_in_place(Context& context, const Tensor& y, double scale);
// to[i] = from[index[i]] over rows; index i32[n], each within from's rows.
void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to);
// out[0] (f64) = sum of x, in a fixed order.
void sum_all(Context& context, const Tensor& x, const Tensor& out);

}  // namespace weft
