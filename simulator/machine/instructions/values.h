// SPDX-License-Identifier: Apache-2.0
// Functions of one lane's values that several families of instructions share.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "simulator/machine/instructions/rounding.h"

namespace weft::cuda_device {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return T(a + b);
  }
  template <Round kRound>
  static float rounded(float a, float b) {
    const double sum = double(a) + double(b);
    return round_exact<kRound>(sum, error_of_sum(a, b, sum));
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return T(a - b);
  }
  template <Round kRound>
  static float rounded(float a, float b) {
    return Add::rounded<kRound>(a, -b);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, uint16_t>) return T(uint32_t{a} * b);  // no promotion to a signed type
    return T(a * b);
  }
  template <Round kRound>
  static float rounded(float a, float b) {
    return round_exact<kRound>(double(a) * double(b), 0.0);
  }
};
struct Fma {
  float operator()(float a, float b, float c) const { return __builtin_fmaf(a, b, c); }
  double operator()(double a, double b, double c) const { return __builtin_fma(a, b, c); }
  template <Round kRound>
  static float rounded(float a, float b, float c) {
    const double product = double(a) * double(b), sum = product + double(c);
    return round_exact<kRound>(sum, error_of_sum(product, c, sum));
  }
};
struct MulAdd {
  template <class T>
  T operator()(T a, T b, T c) const {
    return T(Mul{}(a, b) + c);
  }
};
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    using Wide =
        std::conditional_t<sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>,
                           std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;
    return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
  }
};
struct Div {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return T(-1);
      if (std::is_signed_v<T> && b == T(-1)) return T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a));
    }
    return T(a / b);
  }
};
struct Rem {
  template <class T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {  // if one is NaN, the other one; -0 before +0
      if (!(a == a)) return b;
      return a < b || !(b == b) || (a == b && std::signbit(a)) ? a : b;
    }
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(a == a)) return b;
      return a > b || !(b == b) || (a == b && !std::signbit(a)) ? a : b;
    }
    return std::max(a, b);
  }
};
template <class F>
struct OrNaN {  // .NaN: NaN if either operand is NaN
  float operator()(float a, float b) const { return a == a && b == b ? F{}(a, b) : std::bit_cast<float>(kNaN32); }
};
struct Neg {
  template <class T>
  T operator()(T a) const {
    return T(-a);
  }
};
struct Abs {
  template <class T>
  T operator()(T a) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(a);
    else
      return a < 0 ? T(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(a)) : a;
  }
};
struct CopySign {
  template <class T>
  T operator()(T sign, T of) const {
    return std::copysign(of, sign);
  }
};
struct Difference {  // sad: c + |a - b|
  template <class T>
  T operator()(T a, T b, T c) const {
    using U = std::make_unsigned_t<T>;
    return T(U(c) + (a > b ? U(a) - U(b) : U(b) - U(a)));
  }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

}  // namespace weft::cuda_device
