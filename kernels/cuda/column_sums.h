#pragma once
#include "kernels/backend/scratch.h"
#include "kernels/cuda/stream.h"
#include "kernels/tensor.h"

namespace weft::cuda {

// out[c] = sum over rows of x[r, c], added to what is there if Add: gradients of biases, of gamma and beta. Sums of
// chunks of rows first, then over the chunks in their order, so that the bits depend on the size alone. x f32 or bf16,
// out f32. Works in column_sums_bytes() of scratch.
size_t column_sums_bytes(int64_t rows, int64_t columns);
void column_sums(const Stream& stream, const Tensor& x, const Tensor& out, Accumulate mode, Scratch& scratch);
// Over rows of partial sums [rows, columns] that a kernel has left in scratch memory.
void column_sums(const Stream& stream, const float* x, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch);

}  // namespace weft::cuda
