// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/formulas/host_device.h"
#include "kernels/ops/exact/fixed_point.h"

// One element in fixed point (kernels/ops/exact/fixed_point.h). Every product but a square is with a power of two and
// exact, so that a compiler may fuse it with a sum or not. Conversions between f64 and i64 go through the bits of f64,
// since AVX2 has no instructions for them: loops over these functions vectorise.
namespace weft::formulas {

// In units: elements below the end count, and so many low parts are a unit.
constexpr double kFixedPointEnd = 0x1p51, kLowParts = 0x1p52;

// 2^exponent, for exponents of normal numbers.
WEFT_HOST_DEVICE constexpr double power_of_two(int32_t exponent) {
  return std::bit_cast<double>(int64_t{exponent + 1023} << 52);
}

constexpr double kSquareUnit = power_of_two(-kSquareUnitBits), kSquareLowParts = 0x1p31;

// f64 from 2^52 to 2^53 are the integers there: to add the middle of them rounds a number of at most 2^51 to an
// integer, halves to even, which their difference in bits is.
struct Rounded {
  static constexpr double kMiddle = 0x1.8p52;
  static constexpr int64_t kMiddleBits = std::bit_cast<int64_t>(0x1.8p52);
  double sum;

  WEFT_HOST_DEVICE explicit Rounded(double x) : sum(x + kMiddle) {}
  WEFT_HOST_DEVICE double value() const { return sum - kMiddle; }
  WEFT_HOST_DEVICE int64_t integer() const { return std::bit_cast<int64_t>(sum) - kMiddleBits; }
};

// The f64 nearest to an integer, which is the sum of its halves: the upper one, with its sign, counts 2^32 and is put
// into the bits of 2^84, whose last place is 2^32; the lower one into those of 2^52.
WEFT_HOST_DEVICE inline double nearest_double(int64_t integer) {
  const auto bits = static_cast<uint64_t>(integer);
  const auto upper = std::bit_cast<double>((bits >> 32) ^ (std::bit_cast<uint64_t>(0x1p84) | 0x80000000u));
  const auto lower = std::bit_cast<double>((bits & 0xffffffffu) | std::bit_cast<uint64_t>(0x1p52));
  return (upper - (0x1p84 + 0x1p63 + 0x1p52)) + lower;
}

// The flags are those of kFactFlags.
struct FixedPoint {
  int64_t high, low;
  int64_t flags;
};

// scale: 2^exponent. With a low part halves of a unit go up: low is then below 2^51, and 4,096 of them fit an i64.
template <bool kLow>
WEFT_HOST_DEVICE inline FixedPoint fixed_point(float x, double scale) {
  const double exact = static_cast<double>(x) * scale, size = std::abs(exact);
  const bool counts = size < kFixedPointEnd;
  const double units = counts ? exact : 0;
  // A finite x has at most 2^378 units.
  const int64_t flags = counts ? 0 : size < 0x1p400 ? kFactOverflow : kFactNonFinite;
  const Rounded rounded(units);
  if constexpr (!kLow) return {rounded.integer(), 0, flags};
  const double rest = units - rounded.value();
  const bool half = rest == 0.5;
  const Rounded low((half ? -0.5 : rest) * kLowParts);
  return {rounded.integer() + (half ? 1 : 0), low.integer(), flags};
}

// What an element adds to the facts.
struct FixedPointFacts {
  int64_t squares_high, squares_low;
  int32_t size;  // the bits of |out|
  int32_t flags;
};

// scale: 2^-exponent.
template <bool kLow, bool kCounted>
WEFT_HOST_DEVICE inline FixedPointFacts from_fixed_point(int64_t high, int64_t low, double scale, float& out) {
  double units = nearest_double(high);
  if constexpr (kLow) units += nearest_double(low) * (1 / kLowParts);
  out = static_cast<float>(units * scale);
  const bool counts = std::abs(units) < kFixedPointEnd;
  FixedPointFacts facts{0, 0, std::bit_cast<int32_t>(std::abs(out)), static_cast<int32_t>(counts ? 0 : kFactOverflow)};
  if constexpr (kCounted) {
    const double square = counts ? units * units * kSquareUnit : 0;
    const Rounded rounded(square);
    facts.squares_high = rounded.integer();
    facts.squares_low = Rounded((square - rounded.value()) * kSquareLowParts).integer();
  }
  return facts;
}

}  // namespace weft::formulas
