// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace weft {

// e^x without a branch or a call, so that loops over it vectorise. A polynomial that interpolates at Chebyshev nodes;
// relative error below 2e-7. exp(-inf) = 0, overflow gives inf, denormal results are kept, NaN stays NaN.
inline float fast_exp(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer, held in the low bits
  float c = x < -105.0f ? -105.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const float shifted = c * kLog2e + kRound;
  const float n = shifted - kRound;
  const float r = (c - n * kLn2High) - n * kLn2Low;
  float p = 1.392620089e-3f;
  p = p * r + 8.363232832e-3f;
  p = p * r + 4.166655440e-2f;
  p = p * r + 1.666657667e-1f;
  p = p * r + 0.5f;
  p = (p * r) * r + r + 1.0f;
  // 2^n in two factors, since 2^128 and 2^-150 are not floats.
  const int32_t whole = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const int32_t half = whole >> 1;
  const auto power = [](int32_t e) { return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23); };
  return p * power(half) * power(whole - half);
}

}  // namespace weft
