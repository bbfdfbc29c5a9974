#pragma once
#include <cstdint>

#include "kernels/tensor.h"

namespace weft::cpu {

void fill(const Tensor& t, double value, int threads);
void convert(const Tensor& from, const Tensor& to, int threads);
void add_scaled(const Tensor& x, double scale, const Tensor& y, int threads);
void scale_in_place(const Tensor& y, double scale, int threads);
void gather_rows(const Tensor& from, const Tensor& index, const Tensor& to, int threads);
void join_columns(const Tensor& parts, const Tensor& to);
void add_row(const Tensor& row, const Tensor& y, int threads);

}  // namespace weft::cpu
