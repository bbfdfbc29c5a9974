// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// The largest power of two that divides an address, up to 256, beyond which it does not matter.
uint32_t alignment(const void* p);

// Asks cuBLASLt for up to `most` algorithms that compute a product with its epilogue. It puts first the one that it
// expects to be the fastest; it may have none.
std::vector<cublasLtMatmulAlgo_t> offered(const ProductQueue& queue, const FusedGemm& gemm, bool tf32, int most);

// Whether cuBLASLt takes an algorithm, which was offered for another number of rows, for this product.
bool fits(const ProductQueue& queue, const cublasLtMatmulAlgo_t& algorithm, const Product& product);

}  // namespace weft::cuda
