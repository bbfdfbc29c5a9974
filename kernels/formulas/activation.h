// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/error.h"
#include "kernels/formulas/host_device.h"
#include "kernels/ops/activation.h"

namespace weft::formulas {

// `Functions` has exp and erf of the type T: the CPU's are polynomials without branches or calls, so that loops over
// them vectorise (kernels/cpu/math.h); CUDA's are those of its library (kernels/cuda/activation.cuh).

// gelu_tanh(x) = x (1 + tanh u) / 2 = x gate, gate = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
template <class Functions, class T>
WEFT_HOST_DEVICE inline T gelu_tanh_gate(T x) {
  const T twice_u = T(1.5957691216057307117) * (x + T(0.044715) * x * x * x);
  return T(1) / (T(1) + Functions::exp(-twice_u));
}

// x between -most and most; NaN stays NaN. Beyond `most`, gate (1 - gate) is 0 to any precision here, and must not meet
// an infinity.
template <class T>
WEFT_HOST_DEVICE inline T held_within(T x, T most) {
  const T low = x < -most ? -most : x;
  return low > most ? most : low;
}

// silu(x) = x sigmoid(x)
template <class Functions, class T>
WEFT_HOST_DEVICE inline T sigmoid(T x) {
  return T(1) / (T(1) + Functions::exp(-x));
}

// y = act(x)
template <Activation A, class Functions, class T>
WEFT_HOST_DEVICE inline T activated(T x) {
  if constexpr (A == Activation::Relu) {
    return x < T(0) ? T(0) : x;  // NaN stays NaN
  } else if constexpr (A == Activation::Gelu) {
    return T(0.5) * x * (T(1) + Functions::erf(x * T(0.70710678118654752440)));
  } else if constexpr (A == Activation::GeluTanh) {
    return x * gelu_tanh_gate<Functions>(x);
  } else if constexpr (A == Activation::Silu) {
    return x * sigmoid<Functions>(x);
  } else {
    static_assert(A == Activation::None);
    return x;
  }
}

// act'(x)
template <Activation A, class Functions, class T>
WEFT_HOST_DEVICE inline T activation_slope(T x) {
  if constexpr (A == Activation::Relu) {
    return x > T(0) ? T(1) : T(0);
  } else if constexpr (A == Activation::Gelu) {
    const T below = T(0.5) * (T(1) + Functions::erf(x * T(0.70710678118654752440)));
    return below + x * T(0.39894228040143267794) * Functions::exp(T(-0.5) * x * x);
  } else if constexpr (A == Activation::GeluTanh) {
    const T gate = gelu_tanh_gate<Functions>(x);
    const T held = held_within(x, T(10));
    const T inner = T(1.5957691216057307117) * (T(1) + T(0.134145) * held * held);
    return gate + held * inner * gate * (T(1) - gate);
  } else if constexpr (A == Activation::Silu) {
    const T gate = sigmoid<Functions>(x);
    return gate + held_within(x, T(100)) * gate * (T(1) - gate);
  } else {
    static_assert(A == Activation::None);
    return T(1);
  }
}

// Calls f.template operator()<A>() with the activation as a constant.
template <class F>
decltype(auto) with_activation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::None:
      return f.template operator()<Activation::None>();
    case Activation::Relu:
      return f.template operator()<Activation::Relu>();
    case Activation::Gelu:
      return f.template operator()<Activation::Gelu>();
    case Activation::GeluTanh:
      return f.template operator()<Activation::GeluTanh>();
    case Activation::Silu:
      return f.template operator()<Activation::Silu>();
  }
  throw InternalError("no such activation");
}

}  // namespace weft::formulas
