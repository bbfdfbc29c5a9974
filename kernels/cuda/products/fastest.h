// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// The fastest of several algorithms for a product: each runs a few times on its operands, and its shortest time counts.
// Results go to memory of their own, which is given back: the product's, which it may add to, are as before. Nothing if
// there is not enough memory for that. Waits for the stream; the first of equally fast ones is taken.
std::optional<cublasLtMatmulAlgo_t> fastest(const ProductQueue& queue, const Gemm& gemm, bool tf32,
                                            std::span<const cublasLtMatmulAlgo_t> algorithms);

}  // namespace weft::cuda
