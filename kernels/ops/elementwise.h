// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// t = value, of any dtype.
struct Fill {
  Tensor t;
  double value = 0;
};
void fill(Context& context, const Tensor& t, double value);

// to = from, converting between floating dtypes (rounding to nearest even) if they differ; a copy if not.
struct Convert {
  Tensor from, to;
};
void convert(Context& context, const Tensor& from, const Tensor& to);

// y += scale x, same elements; x of y's dtype, or bf16 where y is f32.
struct AddScaled {
  Tensor x;
  double scale = 1;
  Tensor y;
};
void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y);

// to[i] = from[index[i]] over rows; index i32[n], each within from's rows.
struct GatherRows {
  Tensor from, index, to;
};
void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to);

// Matrices side by side: to[r] = parts[0][r], parts[1][r], ... ; parts [n, rows, columns], to [rows, up to n columns]:
// columns of the last parts beyond to's are padding and left out.
struct JoinColumns {
  Tensor parts, to;
};
void join_columns(Context& context, const Tensor& parts, const Tensor& to);

// y[r] += row for every row r; row [columns] of any floating dtype, y [rows, columns].
struct AddRow {
  Tensor row, y;
};
void add_row(Context& context, const Tensor& row, const Tensor& y);

}  // namespace weft
