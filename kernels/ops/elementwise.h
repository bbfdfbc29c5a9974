// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"

namespace weft {

// t = value; t has any dtype.
struct Fill {
  Tensor t;
  double value = 0;
};
void fill(Context& context, const Tensor& t, double value);

// to = from: converted between floating dtypes, rounding to nearest even, if the dtypes differ, else copied.
struct Convert {
  Tensor from, to;
};
void convert(Context& context, const Tensor& from, const Tensor& to);

// y += scale x. x has as many elements as y and y's dtype, or bf16 if y is f32.
struct AddScaled {
  Tensor x;
  double scale = 1;
  Tensor y;
};
void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y);

// to[i] = from[index[i]] for rows; index i32[n] holds row numbers of `from`.
struct GatherRows {
  Tensor from, index, to;
};
void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to);

// Puts matrices side by side: to[r] = parts[0][r], parts[1][r], ... ; parts [n, rows, columns], to [rows, up to n
// columns]. Columns of the parts beyond those of `to` are padding and are dropped.
struct JoinColumns {
  Tensor parts, to;
};
void join_columns(Context& context, const Tensor& parts, const Tensor& to);

// y[r] += row for every row r; row [columns] has any floating dtype, y is [rows, columns].
struct AddRow {
  Tensor row, y;
};
void add_row(Context& context, const Tensor& row, const Tensor& y);

}  // namespace weft
