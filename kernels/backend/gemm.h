// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"

namespace weft {

// c [m, n] = op(a) [m, k] op(b) [k, n] + bias [n], or c += op(a) op(b) if `add`. Row-major, dense.
// Types: input and output both f32, both bf16 or, on the CPU, both f64; or input bf16 with output f32. Sums are f32, or
// f64 for f64 inputs. A bias has the common type of input and output.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  DType input = DType::F32;
  DType output = DType::F32;
  const void* a = nullptr;
  bool transpose_a = false;  // a lies in memory as [k, m]
  const void* b = nullptr;
  bool transpose_b = false;  // b lies in memory as [n, k]
  void* c = nullptr;
  const void* bias = nullptr;
  bool add = false;  // excludes a bias
};

// Whether a product may apply it at once: cuBLASLt knows this form of GELU alone, and no dropout.
inline bool fits_product(Activation activation, const Dropout& dropout) {
  return activation == Activation::GeluTanh && !dropout.active();
}

Gemm gemm_of(const Matmul& args);
// product = x weight^T; `product` is args.y, or args.pre if an activation follows. The backend adds the bias.
Gemm forward_gemm(const LinearForward& args, const Tensor& product);
Gemm input_gradient_gemm(const LinearBackward& args);   // dx (+)= dy weight
Gemm weight_gradient_gemm(const LinearBackward& args);  // dweight (+)= dy^T x

}  // namespace weft
