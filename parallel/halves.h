// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

namespace weft {

// 64 bits as two doubles, so that collectives of doubles carry and add them: each holds one half exactly, and so do
// sums over up to 2^21 ranks. The sum of halves are the halves of the sum modulo 2^64.
inline std::array<double, 2> halves(uint64_t value) {
  return {static_cast<double>(value >> 32), static_cast<double>(value & 0xffffffffU)};
}
inline uint64_t from_halves(const double* halves) {
  return (static_cast<uint64_t>(halves[0]) << 32) + static_cast<uint64_t>(halves[1]);
}

}  // namespace weft
