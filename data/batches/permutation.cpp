// SPDX-License-Identifier: Apache-2.0
#include "data/batches/permutation.h"

#include <algorithm>

namespace weft {
namespace {

// The last word of the counter keeps the pivots' draws apart from the swap bits'.
constexpr uint32_t kPivotDraw = 1;
constexpr uint32_t kSwapDraw = 2;

uint64_t join(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

}  // namespace

uint64_t derive_key(uint64_t seed, DataStream purpose, int64_t epoch) {
  const auto e = static_cast<uint64_t>(epoch);
  const auto words =
      Philox(seed)({static_cast<uint32_t>(purpose), static_cast<uint32_t>(e), static_cast<uint32_t>(e >> 32), 0});
  return join(words[0], words[1]);
}

uint64_t uniform_below(uint64_t n, const Philox::Counter& bits) {
  // The high half of bits x n, which deviates from uniform by less than n / 2^64.
  return static_cast<uint64_t>(static_cast<unsigned __int128>(join(bits[0], bits[1])) * n >> 64);
}

Permutation::Permutation(uint64_t n, uint64_t key) : n_(n), philox_(key) {
  if (n == 0) return;
  for (uint32_t round = 0; round < kRounds; ++round) {
    pivots_[round] = uniform_below(n, philox_({round, 0, 0, kPivotDraw}));
  }
}

uint64_t Permutation::operator()(uint64_t i) const {
  uint64_t x = i;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint64_t pivot = pivots_[round];
    const uint64_t partner = pivot >= x ? pivot - x : pivot + (n_ - x);
    const uint64_t larger = std::max(x, partner);  // identifies the pair of x and partner, whichever of them x is
    const auto bits = philox_({static_cast<uint32_t>(larger), static_cast<uint32_t>(larger >> 32), round, kSwapDraw});
    if (bits[0] & 1u) x = partner;
  }
  return x;
}

}  // namespace weft
