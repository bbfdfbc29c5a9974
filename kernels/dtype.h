// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace weft {

// F64 is for gradient checks on the CPU, which compute it without a vendor library.
enum class DType : uint8_t { F32, BF16, F64, I32, I64 };

std::string_view name(DType dtype);
size_t size_of(DType dtype);

// The upper half of an IEEE binary32. Conversion rounds to nearest even; NaN stays NaN.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (word >> 16) | 0x40u : (word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::F32;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::BF16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::F64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::I32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::I64;
};

// The type of sums and statistics over T: double for double, float for the others.
template <class T>
struct AccumulatorOf {
  using type = float;
};
template <>
struct AccumulatorOf<double> {
  using type = double;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

// The dtype of parameter gradients, statistics and losses if activations are of `compute`: F64 for F64, else F32.
constexpr DType accumulator_of(DType compute) { return compute == DType::F64 ? DType::F64 : DType::F32; }

// Calls f.template operator()<T>() with the C++ type of a floating dtype.
template <class F>
decltype(auto) with_float_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F32:
      return f.template operator()<float>();
    case DType::BF16:
      return f.template operator()<BFloat16>();
    case DType::F64:
      return f.template operator()<double>();
    case DType::I32:
    case DType::I64:
      break;
  }
  throw InternalError("a floating dtype is needed here");
}

}  // namespace weft
