// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cpu/products/matmul.h"

namespace weft::cpu {

// The product in f64, for gradient checks: without a vendor library, with sums in the order of k.
void matmul_f64(const Gemm& gemm, int threads);

}  // namespace weft::cpu
