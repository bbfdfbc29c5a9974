// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/gemm.h"

namespace weft {

Gemm gemm_of(const Matmul& args) {
  return {.m = args.c.rows(),
          .n = args.c.columns(),
          .k = args.transpose_a ? args.a.rows() : args.a.columns(),
          .input = args.a.dtype(),
          .output = args.c.dtype(),
          .a = args.a.device_raw(),
          .transpose_a = args.transpose_a,
          .b = args.b.device_raw(),
          .transpose_b = args.transpose_b,
          .c = args.c.device_raw(),
          .add = args.mode == Accumulate::Add};
}

Gemm forward_gemm(const LinearForward& args, const Tensor& product) {
  return {.m = args.y.rows(),
          .n = args.y.columns(),
          .k = args.x.columns(),
          .input = args.x.dtype(),
          .output = args.y.dtype(),
          .a = args.x.device_raw(),
          .b = args.weight.device_raw(),
          .transpose_b = true,
          .c = product.device_raw()};
}

Gemm input_gradient_gemm(const LinearBackward& args) {
  return {.m = args.dy.rows(),
          .n = args.dx.tensor.columns(),
          .k = args.dy.columns(),
          .input = args.dy.dtype(),
          .output = args.dx.tensor.dtype(),
          .a = args.dy.device_raw(),
          .b = args.weight.device_raw(),
          .c = args.dx.tensor.device_raw(),
          .add = args.dx.mode == Accumulate::Add};
}

Gemm weight_gradient_gemm(const LinearBackward& args) {
  return {.m = args.dy.columns(),
          .n = args.x.columns(),
          .k = args.dy.rows(),
          .input = args.dy.dtype(),
          .output = args.dweight.tensor.dtype(),
          .a = args.dy.device_raw(),
          .transpose_a = true,
          .b = args.x.device_raw(),
          .c = args.dweight.tensor.device_raw(),
          .add = args.dweight.mode == Accumulate::Add};
}

}  // namespace weft
