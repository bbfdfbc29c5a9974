// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/exponents.h"

#include <algorithm>
#include <cmath>

#include "kernels/ops/exact/fixed_point.h"

namespace weft {
namespace {

constexpr int kGreatestBits = 44;  // of the greatest element's integer
constexpr int kLowered = 30;       // by an overflow
constexpr int kTooSmall = 24;      // fewer bits than fp32 has: the element that matters most has lost some
constexpr int32_t kFirst = 40;     // while nothing is known: the greatest element may be 2^11

int32_t exponent_for(double greatest) {
  return std::clamp<int32_t>(kGreatestBits - 1 - std::ilogb(greatest), kLeastExponent, kMostExponent);
}

}  // namespace

void Exponents::restore(const std::vector<int32_t>& known) {
  std::ranges::fill(known_, kUnknown);
  if (known.size() != known_.size()) return;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] >= kLeastExponent && known[i] <= kMostExponent) known_[i] = known[i];
  }
}

void Exponents::begin_step() {
  for (size_t i = 0; i < known_.size(); ++i) now_[i] = known_[i] == kUnknown ? kFirst : known_[i];
  std::ranges::fill(from_, From::Before);
}

bool Exponents::must_repeat(std::span<const GradientFacts> facts) {
  if (std::ranges::any_of(facts, &GradientFacts::not_finite)) return false;  // the step is skipped
  bool repeat = false;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].overflow && now_[i] > kLeastExponent) {
      now_[i] = std::max(now_[i] - kLowered, kLeastExponent);
      from_[i] = From::Overflow;
      repeat = true;
      continue;
    }
    if (from_[i] != From::Before || facts[i].greatest == 0) continue;
    const int32_t asked = exponent_for(facts[i].greatest);
    const bool small = asked - now_[i] > kGreatestBits - kTooSmall;
    if (asked == now_[i] || (known_[i] != kUnknown && !small)) continue;
    now_[i] = asked;
    from_[i] = From::Itself;
    repeat = true;
  }
  return repeat;
}

void Exponents::end_step(std::span<const GradientFacts> facts) {
  for (size_t i = 0; i < facts.size(); ++i) {
    if (from_[i] == From::Overflow) {
      known_[i] = now_[i];  // parts of the sum were greater than the sum
    } else if (facts[i].greatest > 0) {
      known_[i] = exponent_for(facts[i].greatest);
    }
  }
}

double squared_norm(std::span<const GradientFacts> facts, std::span<const int32_t> exponents) {
  double sum = 0;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (facts[i].not_finite) return std::numeric_limits<double>::quiet_NaN();
    sum += std::ldexp(facts[i].squares, kSquareUnitBits - 2 * exponents[i]);
  }
  return sum;
}

}  // namespace weft
