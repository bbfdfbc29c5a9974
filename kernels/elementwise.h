#pragma once
#include "kernels/context.h"

namespace weft {

void fill(Context& context, Tensor t, double value);
// to = from, converting between floating dtypes (rounding to nearest even) if they differ.
void convert(Context& context, const Tensor& from, const Tensor& to);
// y += scale x, same dtype and elements.
void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y);
// y = scale y.
void scale_in_place(Context& context, const Tensor& y, double scale);
// to[i] = from[index[i]] over rows; index i32[n], each within from's rows.
void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to);
// Matrices side by side: to[r] = parts[0][r], parts[1][r], ... ; parts [n, rows, columns], to [rows, up to n columns]:
// columns of the last parts beyond to's are padding and left out.
void join_columns(Context& context, const Tensor& parts, const Tensor& to);
// y[r] += row for every row r; row [columns] of any floating dtype, y [rows, columns].
void add_row(Context& context, const Tensor& row, const Tensor& y);

}  // namespace weft
