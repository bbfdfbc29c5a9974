// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

namespace weft {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a keyed bijection of
// 128-bit counters. A value depends on (key, counter) alone, so any rank, slice or recomputation draws the same.
struct Philox {
  using Counter = std::array<uint32_t, 4>;
  static constexpr int kRounds = 10;
  static constexpr uint32_t kMultiplier0 = 0xD2511F53u, kMultiplier1 = 0xCD9E8D57u;
  static constexpr uint32_t kStep0 = 0x9E3779B9u, kStep1 = 0xBB67AE85u;  // from one round's key to the next

  uint32_t key0 = 0;
  uint32_t key1 = 0;

  explicit constexpr Philox(uint64_t key) : key0(static_cast<uint32_t>(key)), key1(static_cast<uint32_t>(key >> 32)) {}

  constexpr Counter operator()(Counter c) const {
    uint32_t k0 = key0, k1 = key1;
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t p0 = uint64_t{kMultiplier0} * c[0];
      const uint64_t p1 = uint64_t{kMultiplier1} * c[2];
      c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
           static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
      k0 += kStep0;
      k1 += kStep1;
    }
    return c;
  }
};

// A uniform in (0, 1): never 0, so its logarithm is finite.
constexpr double uniform_open(uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

}  // namespace weft
