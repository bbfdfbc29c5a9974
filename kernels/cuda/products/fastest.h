// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// Returns the fastest of several algorithms for a product: each runs a few times on its operands, and its shortest time
// counts; of equally fast ones the first. Results go to memory of their own, which is released, so that the product's
// own result, which it may add to, stays as it was. Returns nothing if there is not enough memory for that. Waits for
// the stream.
std::optional<cublasLtMatmulAlgo_t> fastest(const ProductQueue& queue, const FusedGemm& gemm, bool tf32,
                                            std::span<const cublasLtMatmulAlgo_t> algorithms);

}  // namespace weft::cuda
