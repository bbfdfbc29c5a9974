// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/products/matmul.h"

namespace weft::cuda {

// Where cuBLASLt does not offer a product with its epilogue, or is slow at it, a part of the epilogue is a kernel of
// weft's: GELU or its gradient after the product, or the bias, to which the product is added, so that the sum of both
// is rounded once.
FusedGemm without_a_part(const FusedGemm& gemm);
// What is queued before and after the product without_a_part(gemm).
void run_before(const Stream& stream, const FusedGemm& gemm);
void run_after(const Stream& stream, const FusedGemm& gemm);

}  // namespace weft::cuda
