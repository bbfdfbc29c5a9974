// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "base/philox.h"

namespace weft {

// The purpose of a random stream of the data path. Each (seed, purpose, epoch) has a Philox key of its own.
enum class DataStream : uint32_t {
  WindowOrder = 1,
  WindowOffset,
  WindowDraw,
  PairOrder,
  PairRemainder,
  GroupOrder,
  MixtureOrder,
  MixturePart,
};

uint64_t derive_key(uint64_t seed, DataStream purpose, int64_t epoch);

// A uniform integer in [0, n), n > 0, from 64 random bits.
uint64_t uniform_below(uint64_t n, const Philox::Counter& bits);

// A keyed random permutation of [0, n), without an array: the swap-or-not shuffle (Hoang, Morris, Rogaway, "An
// enciphering scheme based on a card shuffle", CRYPTO 2012). In every round x and pivot - x (mod n) change places or
// not, by one random bit that belongs to the pair. Any n, a bijection by construction, O(1) time and memory an index.
class Permutation {
 public:
  Permutation(uint64_t n, uint64_t key);
  uint64_t size() const { return n_; }
  uint64_t operator()(uint64_t i) const;  // i < n

 private:
  static constexpr int kRounds = 96;
  uint64_t n_;
  Philox philox_;
  std::array<uint64_t, kRounds> pivots_{};
};

}  // namespace weft
