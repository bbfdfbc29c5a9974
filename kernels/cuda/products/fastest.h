// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <span>

#include "kernels/cuda/products/product.h"

namespace weft::cuda {

// One way to compute a product, queued on its stream with the addresses that it is called with.
using Candidate = std::function<cublasStatus_t(const FusedGemm&)>;

// Returns which of several candidates computes a product fastest: each runs a few times on its operands, and its
// shortest time counts; of equally fast ones the first. Results go to memory of their own, which is released, so that
// the product's own result, which it may add to, stays as it was. Returns nothing if there is not enough memory for
// that. Waits for the stream.
std::optional<size_t> fastest(const Stream& stream, const FusedGemm& gemm, std::span<const Candidate> candidates);

}  // namespace weft::cuda
