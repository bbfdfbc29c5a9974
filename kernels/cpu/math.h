// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/fast_exp.h"
#include "kernels/cpu/convert.h"
#include "kernels/ops/activation.h"

// Elementary functions without branches or calls, so that loops over float vectorise; over double, the library's.
// Polynomials interpolate at Chebyshev nodes. Unqualified calls inside weft::cpu find these.
namespace weft::cpu {

inline float exp(float x) { return fast_exp(x); }
inline double exp(double x) { return std::exp(x); }

// Absolute error below 2e-7, relative error below 1e-6: x P(x^2) near 0, 1 - exp(log erfc) farther out.
inline float erf(float x) {
  const float s = x * x;
  float p = 7.875875050e-5f;
  p = p * s - 8.016864283e-4f;
  p = p * s + 5.189087423e-3f;
  p = p * s - 2.685421201e-2f;
  p = p * s + 1.128359472e-1f;
  p = p * s - 3.761262667e-1f;
  p = p * s + 1.128379166e+0f;
  const float near = x * p;
  const float magnitude = std::fabs(x);
  const float t = magnitude > 4.0f ? 4.0f : magnitude;
  float q = 1.327236181e-5f;
  q = q * t - 3.169370225e-4f;
  q = q * t + 3.432351381e-3f;
  q = q * t - 2.260477224e-2f;
  q = q * t + 1.032811176e-1f;
  q = q * t + 6.391412576e-1f;
  q = q * t + 1.125893652e+0f;
  q = q * t + 7.658977797e-4f;
  const float signed_far = std::copysign(1.0f - exp(-q), x);
  return t < 1.0f ? near : signed_far;
}
inline double erf(double x) { return std::erf(x); }

// 1 / (1 + exp(-x))
template <class T>
T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

// y = act(x) and its derivative at x, for T float or double.
template <Activation A, class T>
T activated(T x) {
  if constexpr (A == Activation::Relu) {
    return x < T(0) ? T(0) : x;  // NaN stays NaN
  } else if constexpr (A == Activation::Gelu) {
    return T(0.5) * x * (T(1) + erf(x * T(0.70710678118654752440)));
  } else if constexpr (A == Activation::GeluTanh) {
    // x (1 + tanh u) / 2 = x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3)
    return x * sigmoid(T(1.5957691216057307117) * (x + T(0.044715) * x * x * x));
  } else {
    static_assert(A == Activation::None);
    return x;
  }
}

template <Activation A, class T>
T activation_slope(T x) {
  if constexpr (A == Activation::Relu) {
    return x > T(0) ? T(1) : T(0);
  } else if constexpr (A == Activation::Gelu) {
    const T below = T(0.5) * (T(1) + erf(x * T(0.70710678118654752440)));
    return below + x * T(0.39894228040143267794) * exp(T(-0.5) * x * x);
  } else if constexpr (A == Activation::GeluTanh) {
    const T s = sigmoid(T(1.5957691216057307117) * (x + T(0.044715) * x * x * x));
    // Beyond 10, s (1 - s) is 0 to any precision here; held there, x^2 cannot overflow to 0 times infinity.
    const T low = x < T(-10) ? T(-10) : x;
    const T held = low > T(10) ? T(10) : low;
    const T inner = T(1.5957691216057307117) * (T(1) + T(0.134145) * held * held);
    return s + held * inner * s * (T(1) - s);
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
  }
  throw InternalError("no such activation");
}

}  // namespace weft::cpu
