// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/fast_exp.h"
#include "kernels/cpu/convert.h"
#include "kernels/formulas/activation.h"

// Elementary functions without branches or calls, so that loops over float vectorise; over double they are the
// library's. Only the CPU uses them: a device has fast ones in hardware. Polynomials interpolate at Chebyshev nodes.
// Unqualified calls inside weft::cpu find these functions.
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

// The functions of kernels/formulas/activation.h.
struct Functions {
  template <class T>
  static T exp(T x) {
    return cpu::exp(x);
  }
  template <class T>
  static T erf(T x) {
    return cpu::erf(x);
  }
};

template <Activation A, class T>
T activated(T x) {
  return formulas::activated<A, Functions>(x);
}

template <Activation A, class T>
T activation_slope(T x) {
  return formulas::activation_slope<A, Functions>(x);
}

using formulas::with_activation;

}  // namespace weft::cpu
