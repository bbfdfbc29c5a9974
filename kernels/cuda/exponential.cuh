// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::cuda {

// 2^x, at most 2 units in the last place off; results below 2^-126 are 0. exp2f() takes three more instructions to
// return those, which weigh nothing beside the largest weight of their row, 1.
__device__ inline float exponential(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e^x, as exactly for x near 0, where the weights of a row that count have theirs.
__device__ inline float natural_exponential(float x) {
  constexpr float kLog2E = 1.44269504f;
  return exponential(x * kLog2E);
}

}  // namespace weft::cuda
