// SPDX-License-Identifier: Apache-2.0
// Rounding as in the PTX manual: directed rounding of fp32, subnormals flushed, saturation, bf16.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

namespace weft::cuda_device {

enum class Round { Nearest, Zero, Down, Up };

// The exact value high + low rounded to fp32, where |low| is at most half of the last bit of high.
template <Round kRound>
inline float round_exact(double high, double low) {
  // If `low` is not zero, a tie of `high` is not a tie; moving `high` by its last bit of fp64 changes nothing else.
  if (kRound == Round::Nearest && low != 0.0) return float(std::nextafter(high, low > 0 ? INFINITY : -INFINITY));
  const auto nearest = float(high);
  if constexpr (kRound == Round::Nearest) return nearest;
  if (!(std::fabs(high) <= DBL_MAX)) return nearest;  // NaN or infinity
  const double over = double(nearest) - high;
  const bool above = over > 0 || (over == 0 && low < 0), below = over < 0 || (over == 0 && low > 0);
  const bool negative = std::signbit(high);
  if (above && (kRound == Round::Down || (kRound == Round::Zero && !negative)))
    return std::nextafter(nearest, -INFINITY);
  if (below && (kRound == Round::Up || (kRound == Round::Zero && negative))) return std::nextafter(nearest, INFINITY);
  return nearest;
}

// The part of a + b that rounding loses.
inline double error_of_sum(double a, double b, double sum) {
  const double b_part = sum - a, a_part = sum - b_part;
  return (a - a_part) + (b - b_part);
}

inline float flush(float v) { return std::fabs(v) < FLT_MIN ? std::copysign(0.f, v) : v; }
inline float saturate(float v) { return v > 0.f ? (v < 1.f ? v : 1.f) : 0.f; }  // NaN becomes 0

constexpr uint32_t kNaN32 = 0x7fffffff;
constexpr uint16_t kNaN16 = 0x7fff;

inline float from_bf16(uint16_t v) { return std::bit_cast<float>(uint32_t{v} << 16); }
inline uint16_t to_bf16(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  const auto rounded = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  return (bits & 0x7fffffffu) > 0x7f800000u ? kNaN16 : rounded;
}
inline uint16_t to_bf16_toward_zero(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return (bits & 0x7fffffffu) > 0x7f800000u ? kNaN16 : uint16_t(bits >> 16);
}
// Rounds to 10 bits of mantissa, ties away from zero.
inline uint32_t to_tf32(float v) {
  const auto bits = std::bit_cast<uint32_t>(v);
  return (bits & 0x7fffffffu) > 0x7f800000u ? kNaN32 : (bits + 0x1000u) & ~0x1fffu;
}

}  // namespace weft::cuda_device
