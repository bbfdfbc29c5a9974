// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/attention/tiles.cuh"
#include "kernels/cuda/dropout.cuh"
#include "kernels/formulas/band.h"

// Which elements of a block of scores take part. A thread holds rows lane / 4 and lane / 4 + 8 of a warp's 16 rows, and
// of every 8 columns lane % 4 * 2 and the next: element [j][2 h + odd] is row lane / 4 + 8 h, column 8 j + lane % 4 * 2
// + odd.
namespace weft::cuda {

// The columns first .. last, counted over the sequence, that each of the thread's two rows sees; and those that some
// row and that all rows of the warp see.
struct Seen {
  int first[2], last[2];
  int some_first, some_last, all_first, all_last;

  __device__ bool operator()(int h, int column) const { return first[h] <= column && column < last[h]; }
  __device__ bool any(int begin, int count) const { return begin < some_last && begin + count > some_first; }
  __device__ bool all(int begin, int count) const { return all_first <= begin && begin + count <= all_last; }
};

// Row r of the warp sees columns first(r) .. last(r); neither falls from one row to the next.
template <class First, class Last>
__device__ Seen seen_between(First first, Last last) {
  const int row = lane() / 4;
  return {.first = {first(row), first(row + 8)},
          .last = {last(row), last(row + 8)},
          .some_first = first(0),
          .some_last = last(kWarpRows - 1),
          .all_first = first(kWarpRows - 1),
          .all_last = last(0)};
}

// Row r of the warp, at position begin + r, sees the columns of its band up to `end`. What each row sees is computed
// where it is asked for, since sums leave few registers.
struct SeenInBand {
  int begin, end;
  formulas::Band band;

  __device__ int first(int r) const { return band.first(begin + r); }
  __device__ int last(int r) const { return band.end(begin + r, end); }
  __device__ bool operator()(int h, int column) const {
    const int r = lane() / 4 + 8 * h;
    return first(r) <= column && column < last(r);
  }
  __device__ bool any(int at, int count) const { return at < last(kWarpRows - 1) && at + count > first(0); }
  __device__ bool all(int at, int count) const { return first(kWarpRows - 1) <= at && at + count <= last(0); }
};

// Attention's dropout: position = query position, channel = key position.
struct AttentionDropout {
  DropoutMask mask;
  uint32_t head = 0;

  // The identity of a row in the model.
  struct alignas(8) Row {
    int32_t position, sequence;
  };
  __device__ Row row(int64_t r) const { return {mask.positions[r], mask.sequences[r]}; }

  // A bit for each of a Philox call's keys, set if the weight is kept. What follows lays out eight of them a call.
  static_assert(formulas::kDrawsOfCall == 8);
  __device__ uint32_t kept(Row row, int key) const {
    const DropoutMask::Draws draws =
        mask.draws(static_cast<uint32_t>(key / formulas::kDrawsOfCall), static_cast<uint32_t>(row.position),
                   static_cast<uint32_t>(row.sequence), head);
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < formulas::kDrawsOfCall; ++i)
      bits |= static_cast<uint32_t>(!formulas::is_dropped(draws[i], mask.threshold)) << i;
    return bits;
  }

  // Bit 4 j + i: element [j][i] of a block is kept. Rows are queries, row_of(r) gives row r of the warp; columns are
  // the keys from `key` on, a multiple of 8. The four lanes that share two rows divide their calls.
  template <int kColumns, class RowOf>
  __device__ uint32_t kept_keys(int key, RowOf row_of) const {
    constexpr int kCalls = kColumns / 16;  // calls of each lane
    const int quad = lane() / 4 * 4, member = lane() % 4;
    uint32_t mine = 0, all = 0;
#pragma unroll 1
    for (int i = 0; i < kCalls; ++i) {
      const int call = 4 * i + member, h = call / (kColumns / 8), j = call % (kColumns / 8);
      mine |= kept(row_of(lane() / 4 + 8 * h), key + 8 * j) << (8 * i);
    }
#pragma unroll
    for (int from = 0; from < 4; ++from) {
      const uint32_t theirs = __shfl_sync(kAllLanes, mine, quad + from);
#pragma unroll
      for (int i = 0; i < kCalls; ++i) {
        const int call = 4 * i + from, h = call / (kColumns / 8), j = call % (kColumns / 8);
        all |= (theirs >> (8 * i + 2 * member) & 3u) << (4 * j + 2 * h);
      }
    }
    return all;
  }

  // weights = dropout(weights); rows are queries as in kept_keys().
  template <int kColumns, class RowOf>
  __device__ void apply(float (&weights)[kColumns / 8][4], int key, RowOf row_of) const {
    const uint32_t kept = kept_keys<kColumns>(key, row_of);
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      float& weight = weights[i / 4][i % 4];
      weight = kept >> i & 1u ? weight * mask.scale : 0;
    }
  }

  // kept_keys() of a block whose rows are keys, from `key` on, a multiple of 16, and whose columns are queries,
  // row_of(c) giving that of column c. A call serves the eight lanes that share columns.
  template <int kColumns, class RowOf>
  __device__ uint32_t kept_queries(int key, RowOf row_of) const {
    constexpr int kCalls = kColumns / 16;
    const int member = lane() / 4, pair = lane() % 4;
    uint32_t mine = 0, all = 0;
#pragma unroll 1
    for (int i = 0; i < kCalls; ++i) {
      const int call = 8 * i + member, h = call / (kColumns / 4), c = call % (kColumns / 4);
      mine |= kept(row_of(c / 2 * 8 + pair * 2 + c % 2), key + 8 * h) << (8 * i);
    }
#pragma unroll
    for (int from = 0; from < 8; ++from) {
      const uint32_t theirs = __shfl_sync(kAllLanes, mine, 4 * from + pair);
#pragma unroll
      for (int i = 0; i < kCalls; ++i) {
        const int call = 8 * i + from, h = call / (kColumns / 4), c = call % (kColumns / 4);
        all |= (theirs >> (8 * i + member) & 1u) << (4 * (c / 2) + 2 * h + c % 2);
      }
    }
    return all;
  }
};

}  // namespace weft::cuda
