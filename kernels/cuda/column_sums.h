// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "kernels/backend/scratch.h"
#include "kernels/cuda/runtime/stream.h"
#include "kernels/tensor.h"

namespace weft::cuda {

// out[c] (+)= sum over rows of x[r, c]: gradients of biases, of gamma and beta. Chunks of rows are summed first, then
// the chunks in their order, so that the bits depend on the size alone. x: f32 or bf16, out: f32. It works in
// column_sums_bytes() of scratch.
size_t column_sums_bytes(int64_t rows, int64_t columns);
void column_sums(const Stream& stream, const Tensor& x, const Tensor& out, Accumulate mode, Scratch& scratch);

// Partial sums [rows, columns], of few rows, that a kernel has left in scratch memory, and where the sums over their
// rows go.
struct PartialSums {
  const float* from = nullptr;
  float* to = nullptr;
  Accumulate mode = Accumulate::Overwrite;
};
constexpr size_t kMostPartialSums = 3;
// Adds up as many as kMostPartialSums partial sums in one launch.
void add_partial_sums(const Stream& stream, std::span<const PartialSums> sums, int64_t rows, int64_t columns);

}  // namespace weft::cuda
