#pragma once
#include <cstdint>

#include "kernels/tensor.h"

namespace weft::cpu {

// partial: accumulator dtype, [threads, columns].
void sum_rows(const Tensor& x, const Tensor& out, bool add, const Tensor& partial, int threads);
// Into out[0]: the sum of x, or of its squares. partial: f64[sum_blocks(elements)].
int64_t sum_blocks(int64_t elements);
void sum_all(const Tensor& x, bool squares, const Tensor& out, const Tensor& partial, int threads);

}  // namespace weft::cpu
