// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/formulas/host_device.h"

// The norm of kernels/ops/residual_norm.h. A: the accumulator type.
namespace weft::formulas {

// rstd of a row.
template <class A>
WEFT_HOST_DEVICE inline A inverse_deviation(A variance, A epsilon) {
  return A{1} / std::sqrt(variance + epsilon);
}

template <class A>
WEFT_HOST_DEVICE inline A normalised(A x, A mean, A rstd) {
  return (x - mean) * rstd;
}

// d_total of one element, from g = dnormed gamma and n = normalised(x); along_one: mean(g) over the row, along_normal:
// mean(g n).
template <class A>
WEFT_HOST_DEVICE inline A norm_gradient(A g, A n, A rstd, A along_one, A along_normal) {
  return rstd * (g - along_one - n * along_normal);
}

}  // namespace weft::formulas
