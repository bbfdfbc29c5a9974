// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend/gemm.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// A product without a bias, by a kernel of weft's, for the few that cuBLASLt does not offer. It takes every shape and
// alignment. Each sum is of fp32, over the inner dimension from its beginning to its end; TF32 is not used.
void own_product(const Stream& stream, const Gemm& gemm);

}  // namespace weft::cuda
