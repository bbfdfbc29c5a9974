// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/formulas/host_device.h"

// The rotation of kernels/ops/heads.h. A: the accumulator type.
namespace weft::formulas {

// Turns the pair (a, b) by the angle of this cosine and sine; by its inverse with the sine negated.
template <class A>
WEFT_HOST_DEVICE inline void rotate(A& a, A& b, A cosine, A sine) {
  const A turned = a * cosine - b * sine;
  b = b * cosine + a * sine;
  a = turned;
}

// dx of one element, from g = dy gamma (dy rotated back), n = x rstd and along_normal = mean(g n).
template <class A>
WEFT_HOST_DEVICE inline A head_norm_gradient(A g, A n, A rstd, A along_normal) {
  return rstd * (g - n * along_normal);
}

}  // namespace weft::formulas
