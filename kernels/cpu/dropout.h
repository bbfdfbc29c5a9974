// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/philox.h"
#include "kernels/formulas/dropout.h"
#include "kernels/step_state.h"

namespace weft::cpu {

// The draws of kernels/step_state.h's Dropout, many at a time: base/philox.h's function, with kCalls calls side by side
// in vectors of 64-bit lanes, each of which holds a 32-bit word of one call (so that a product fits).
namespace dropout_detail {

constexpr int kLanes = formulas::kDrawsOfCall;
constexpr int kCalls = 16;
constexpr int kBatch = kLanes * kCalls;  // channels a batch serves
constexpr int kHalf = kCalls / 2;

using Words [[gnu::vector_size(kHalf * 8)]] = uint64_t;

// Philox(key)({block[i], c1, c2, c3}); low and high hold the four output words of call i, two a lane.
inline void philox_lanes(uint64_t key, const Words& block, uint32_t c1, uint32_t c2, uint32_t c3, Words& low,
                         Words& high) {
  constexpr uint64_t kLow = 0xFFFFFFFFu;
  Words x0 = block, x1 = Words{} + c1, x2 = Words{} + c2, x3 = Words{} + c3;
  uint64_t k0 = key & kLow, k1 = key >> 32;
  for (int round = 0; round < Philox::kRounds; ++round) {
    const Words p0 = Philox::kMultiplier0 * x0, p1 = Philox::kMultiplier1 * x2;
    x0 = (p1 >> 32) ^ x1 ^ k0;
    x1 = p1 & kLow;
    x2 = (p0 >> 32) ^ x3 ^ k1;
    x3 = p0 & kLow;
    k0 = (k0 + Philox::kStep0) & kLow;
    k1 = (k1 + Philox::kStep1) & kLow;
  }
  low = x0 | x1 << 32;
  high = x2 | x3 << 32;
}

// The draws of calls first_block .. first_block + kCalls - 1: draws[8 i + lane] as step_state.h numbers the lanes.
inline void philox_batch(uint64_t key, uint32_t first_block, uint32_t c1, uint32_t c2, uint32_t c3, uint16_t* draws) {
  constexpr Words kFirst = {0, 1, 2, 3, 4, 5, 6, 7};
  std::array<Words, 2> low, high;
  for (int h = 0; h < 2; ++h) {
    philox_lanes(key, kFirst + (uint64_t{first_block} + static_cast<uint64_t>(kHalf * h)), c1, c2, c3, low[h], high[h]);
  }
  for (int h = 0; h < 2; ++h) {
    const std::array<Words, 2> rows = {__builtin_shufflevector(low[h], high[h], 0, 8, 1, 9, 2, 10, 3, 11),
                                       __builtin_shufflevector(low[h], high[h], 4, 12, 5, 13, 6, 14, 7, 15)};
    std::memcpy(draws + h * kBatch / 2, rows.data(), sizeof rows);
  }
}

}  // namespace dropout_detail

// A Dropout with its state read, for loops over rows. Make one per call of an operation, outside parallel loops.
class DropoutMask {
 public:
  // An inactive dropout gives an inactive mask, of which only active() may be called.
  explicit DropoutMask(const Dropout& dropout) : active_(dropout.active()) {
    if (!active_) return;
    key_ = formulas::dropout_key(dropout.step.dropout_key, dropout.dropout_id);
    threshold_ = dropout.threshold();
    scale_ = dropout.scale();
    first_channel_ = dropout.first_channel;
    sequences_ = dropout.rows.sequence.device_data<int32_t>();
    positions_ = dropout.rows.position.device_data<int32_t>();
  }

  bool active() const { return active_; }

  // out[c] = 0 or the scale, for this tensor's channels begin .. begin + n of a row. A is float or double.
  template <class A>
  void multipliers(int64_t row, int64_t begin, int64_t n, A* out, uint32_t head = 0) const {
    for_each_batch(row, begin, n, head, [this, out](const uint16_t* draws, int64_t at, int64_t count) {
      A* const to = out + at;  // locals, which the stores cannot change: else the loop does not vectorise
      const auto scale = static_cast<A>(scale_);
      const uint32_t threshold = threshold_;
      for (int64_t c = 0; c < count; ++c) to[c] = formulas::is_dropped(draws[c], threshold) ? A{0} : scale;
    });
  }

  // x[c] = dropout(x[c]) for all n channels of a row, or of a gradient's row; T is a compute dtype.
  template <class T>
  void apply(int64_t row, T* x, int64_t n) const {
    using A = Accumulator<T>;
    for_each_batch(row, 0, n, 0, [this, x](const uint16_t* draws, int64_t at, int64_t count) {
      T* const to = x + at;
      const auto scale = static_cast<A>(scale_);
      const uint32_t threshold = threshold_;
      for (int64_t c = 0; c < count; ++c) {
        to[c] = static_cast<T>(formulas::is_dropped(draws[c], threshold) ? A{0} : static_cast<A>(to[c]) * scale);
      }
    });
  }

 private:
  // Calls body(draws, at, count): draws[0 .. count) belong to channels begin + at .. begin + at + count.
  template <class Body>
  void for_each_batch(int64_t row, int64_t begin, int64_t n, uint32_t head, Body&& body) const {
    using namespace dropout_detail;
    const auto sequence = static_cast<uint32_t>(sequences_[row]), position = static_cast<uint32_t>(positions_[row]);
    const int64_t first = first_channel_ + begin;
    alignas(64) std::array<uint16_t, kBatch> draws;
    int64_t skip = first % kLanes;
    for (int64_t at = 0, block = first / kLanes; at < n; block += kCalls) {
      philox_batch(key_, static_cast<uint32_t>(block), position, sequence, head, draws.data());
      const int64_t count = std::min<int64_t>(n - at, kBatch - skip);
      body(draws.data() + skip, at, count);
      at += count;
      skip = 0;
    }
  }

  bool active_;
  uint64_t key_ = 0;
  uint32_t threshold_ = 0;
  double scale_ = 1;
  int64_t first_channel_ = 0;
  const int32_t* sequences_ = nullptr;
  const int32_t* positions_ = nullptr;
};

}  // namespace weft::cpu
