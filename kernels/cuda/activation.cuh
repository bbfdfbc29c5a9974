// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/ops/activation.h"

namespace weft::cuda {

constexpr float kInverseRoot2 = 0.70710678118654752440f;
constexpr float kInverseRoot2Pi = 0.39894228040143267794f;
constexpr float kTwoRoot2OverPi = 1.5957691216057307117f;
constexpr float kGeluCubic = 0.044715f;

// gelu_tanh(x) = x (1 + tanh u) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
__device__ inline float gelu_tanh_gate(float x) {
  return 1 / (1 + expf(-kTwoRoot2OverPi * (x + kGeluCubic * x * x * x)));
}

// The activation of x, and its derivative there.
template <Activation Act>
__device__ float activated(float x) {
  if constexpr (Act == Activation::Relu) {
    return x < 0 ? 0 : x;  // NaN stays
  } else if constexpr (Act == Activation::Gelu) {
    return 0.5f * x * (1 + erff(x * kInverseRoot2));
  } else if constexpr (Act == Activation::GeluTanh) {
    return x * gelu_tanh_gate(x);
  } else {
    static_assert(Act == Activation::None);
    return x;
  }
}

template <Activation Act>
__device__ float activation_slope(float x) {
  if constexpr (Act == Activation::Relu) {
    return x > 0 ? 1 : 0;
  } else if constexpr (Act == Activation::Gelu) {
    return 0.5f * (1 + erff(x * kInverseRoot2)) + x * kInverseRoot2Pi * expf(-0.5f * x * x);
  } else if constexpr (Act == Activation::GeluTanh) {
    const float gate = gelu_tanh_gate(x);
    // Beyond 10 the second term is 0 to any precision here; held there, x^2 cannot overflow to 0 times infinity.
    const float held = fminf(fmaxf(x, -10.0f), 10.0f);
    return gate + held * kTwoRoot2OverPi * (1 + 3 * kGeluCubic * held * held) * gate * (1 - gate);
  } else {
    static_assert(Act == Activation::None);
    return 1;
  }
}

// Calls f.template operator()<Act>().
template <class F>
void with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::None:
      return f.template operator()<Activation::None>();
    case Activation::Relu:
      return f.template operator()<Activation::Relu>();
    case Activation::Gelu:
      return f.template operator()<Activation::Gelu>();
    case Activation::GeluTanh:
      return f.template operator()<Activation::GeluTanh>();
  }
}

}  // namespace weft::cuda
