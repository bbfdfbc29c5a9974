// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/attention/products.cuh"
#include "kernels/cuda/attention/rows.h"
#include "kernels/cuda/attention/shape.cuh"
#include "kernels/cuda/exponential.cuh"

// What attention's two kernels of gradients share. With P the weights, M the dropout multipliers, both recomputed, and
// delta = rowsum(dout * out): dV = (P M)^T dout; dS = P (dout V^T M - delta); dQ = scale dS K; dK = scale dS^T Q.
namespace weft::cuda {

template <class T>
struct AttentionBackwardArgs {
  HeadRows<const T> from;
  HeadRows<T> to;
  const T *dout, *out;
  const float* log_sum;  // [heads, rows]
  float* delta;          // [heads, rows]: dQ's kernel writes it, the other reads it
  int64_t rows;          // queries of all sequences
  const int32_t *query_offsets, *key_offsets;
  int sequences, groups, queries;  // queries: query heads of a group
  formulas::Band band;
  bool vectors;
  float scale;
  AttentionDropout dropout;  // the dropout of head 0

  __device__ const T* dout_row(int64_t row, int head) const { return dout + row_of_out(row, head); }
  __device__ const T* out_row(int64_t row, int head) const { return out + row_of_out(row, head); }
  __device__ int64_t row_of_out(int64_t row, int head) const { return (row * groups * queries + head) * from.width; }
};

// A block's tile of rows, as SequenceTile says it, and the sequence's other rows. It lies in shared memory, since
// registers are for the sums.
struct TileOfBlock {
  int row, begin, length;
  int other_row, others;

  // Called by all threads. Returns whether the tile has rows.
  __device__ bool find(int64_t index, const int32_t* offsets, const int32_t* other_offsets, int sequences, int size) {
    const SequenceTile tile(offsets, sequences, index, size);
    if (tile.empty()) return false;
    if (threadIdx.x == 0) {
      row = static_cast<int>(tile.row), begin = tile.begin, length = tile.length;
      other_row = other_offsets[tile.sequence], others = other_offsets[tile.sequence + 1] - other_row;
    }
    __syncthreads();
    return true;
  }
};

// The numbers of each query of a tile: log_sum, delta and, for the dropout, the row's identity.
template <int kCount>
struct QueryNumbers {
  alignas(8) float log_sum[kCount], delta[kCount];
  int32_t position[kCount], sequence[kCount];

  // Requests the numbers of query r for this thread; they become 0 if `inside` is false.
  template <class T>
  __device__ void fetch(const AttentionBackwardArgs<T>& args, int r, int head, int64_t row, bool inside) {
    const int64_t at = head * args.rows + row;
    copy_4_later(log_sum + r, args.log_sum + at, inside);
    copy_4_later(delta + r, args.delta + at, inside);
    if (!args.dropout.mask.active()) return;
    copy_4_later(position + r, args.dropout.mask.positions + row, inside);
    copy_4_later(sequence + r, args.dropout.mask.sequences + row, inside);
  }
};

// part = the kPart groups of 8 columns from `first` on.
template <int kGroups, int kPart>
__device__ void take_columns(const float (&all)[kGroups][4], int first, float (&part)[kPart][4]) {
#pragma unroll
  for (int j = 0; j < kPart; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) part[j][i] = all[first + j][i];
  }
}

// The dropout of a warp's weights.
struct Dropped {
  bool active = false;
  uint32_t kept = 0;  // bit 4 j + i: element [j][i]
  float scale = 1;
  __device__ float operator()(float x, int j, int i) const {
    if (!active) return x;
    return kept >> (4 * j + i) & 1u ? x * scale : 0;
  }
};

// weights: scores -> P M; dweights: dout V^T -> dS. Both become 0 behind the mask. base: scale log2(e). log_sum(j, i)
// and delta(j, i) are those of the query of element [j][i].
template <bool kEdge, int kGroups, class SeenRows, class LogSum, class Delta>
__device__ void score_gradients(float (&weights)[kGroups][4], float (&dweights)[kGroups][4], int begin,
                                const SeenRows& seen, float base, const Dropped& dropped, LogSum log_sum, Delta delta) {
#pragma unroll
  for (int j = 0; j < kGroups; ++j) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float &weight = weights[j][i], &dweight = dweights[j][i];
      const bool sees = !kEdge || seen(i / 2, begin + 8 * j + lane() % 4 * 2 + i % 2);
      const float p = exponential(fmaf(weight, base, -log_sum(j, i) * kLog2E));
      const float ds = p * (dropped(dweight, j, i) - delta(j, i));
      weight = sees ? dropped(p, j, i) : 0;
      dweight = sees ? ds : 0;
    }
  }
}

}  // namespace weft::cuda
