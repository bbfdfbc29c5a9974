// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/formulas/activation.h"

namespace weft::cuda {

// The functions of kernels/formulas/activation.h.
struct Functions {
  __host__ __device__ static float exp(float x) { return expf(x); }
  __host__ __device__ static float erf(float x) { return erff(x); }
};

template <Activation A>
__device__ float activated(float x) {
  return formulas::activated<A, Functions>(x);
}

template <Activation A>
__device__ float activation_slope(float x) {
  return formulas::activation_slope<A, Functions>(x);
}

using formulas::with_activation;

}  // namespace weft::cuda
