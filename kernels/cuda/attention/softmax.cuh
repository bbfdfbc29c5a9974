// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "kernels/cuda/attention/products.cuh"
#include "kernels/cuda/attention/shape.cuh"
#include "kernels/cuda/exponential.cuh"
#include "kernels/formulas/softmax.h"

// The softmax of rows whose keys arrive in tiles, and its weighted sums: for forward and cached attention.
namespace weft::cuda {

// Where a block's tiles lie in its shared memory, and how a tile of keys and values is fetched.
template <class OfShape>
struct AttentionTiles {
  using Shape = OfShape;
  using T = typename Shape::Element;
  static constexpr int kWidth = Shape::kHeadWidth;
  std::byte* shared;
  int first_column;  // the first of the values' columns

  __device__ T* queries() const { return reinterpret_cast<T*>(shared); }
  __device__ T* keys(int turn) const {
    return reinterpret_cast<T*>(shared + Shape::kQueryBytes + turn * Shape::kKeyBytes);
  }
  __device__ T* values(int turn) const {
    return reinterpret_cast<T*>(shared + Shape::kQueryBytes + 2 * Shape::kKeyBytes + turn * Shape::kValueBytes);
  }
  __device__ std::byte* end() const { return shared + Shape::kSharedBytes; }

  // Copies `count` keys from `from` on, and the values behind them, into the buffers of `turn`.
  __device__ void fetch(int turn, const T* from, int64_t stride, int count, int width, bool vectors) const {
    copy_tile<T, kWidth, Shape::kKeys, Shape::kThreads>(keys(turn), from, stride, count, width, vectors);
    copy_tile<T, Shape::kColumns, Shape::kKeys, Shape::kThreads>(
        values(turn), from + width + first_column, stride, count, min(Shape::kColumns, width - first_column), vectors);
  }
};

// The maximum over the four lanes that share a row.
__device__ inline float row_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, 1));
  return fmaxf(x, __shfl_xor_sync(kAllLanes, x, 2));
}
__device__ inline float row_sum(float x) {
  x += __shfl_xor_sync(kAllLanes, x, 1);
  return x + __shfl_xor_sync(kAllLanes, x, 2);
}

// The state of a thread's two rows of each block of 16: `sum` adds exp(scale (score - max)) over the keys seen so far
// that the thread itself holds, `sums` adds their values times that. Scores are unscaled; base = scale log2(e).
template <int kColumns>
struct RunningRows {
  float sums[kColumns / 8][4];
  float max[2], sum[2];

  __device__ void clear() {
    cuda::clear(sums);
    max[0] = max[1] = -std::numeric_limits<float>::infinity();
    sum[0] = sum[1] = 0;
  }

  // Turns the scores of columns begin .. into weights. Columns that a row does not see take no part: their weights are
  // 0.
  template <bool kEdge, int kCount>
  __device__ void weigh(float (&scores)[kCount / 8][4], int begin, const Seen& seen, float base) {
    const auto sees = [&](int j, int i) { return !kEdge || seen(i / 2, begin + 8 * j + lane() % 4 * 2 + i % 2); };
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float most = max[h];
#pragma unroll
      for (int j = 0; j < kCount / 8; ++j) {
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) most = sees(j, i) ? fmaxf(most, scores[j][i]) : most;
      }
      most = row_max(most);
      const float shrink = max[h] == most ? 1 : exponential((max[h] - most) * base);
      max[h] = most;
      const float subtracted = most * base;  // its rounding is one factor of the row, which its sum divides out
      float more = 0;
#pragma unroll
      for (auto& block : sums) block[2 * h] *= shrink, block[2 * h + 1] *= shrink;
#pragma unroll
      for (int j = 0; j < kCount / 8; ++j) {
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) {
          scores[j][i] = sees(j, i) ? exponential(fmaf(scores[j][i], base, -subtracted)) : 0;
          more += scores[j][i];
        }
      }
      sum[h] = fmaf(sum[h], shrink, more);
    }
  }

  // Adds one tile of keys and values, of columns begin .., to the warp's rows `first` .. of the tile of queries.
  // drop(weights) applies the dropout to the weights.
  template <bool kEdge, class Shape, class Drop>
  __device__ void attend(const AttentionTiles<Shape>& tiles, int turn, int first, int begin, const Seen& seen,
                         float base, Drop drop) {
    constexpr int kCount = Shape::kKeys;
    float weights[kCount / 8][4];
    row_products<Shape::kHeadWidth, kCount>(tiles.queries(), first, tiles.keys(turn), weights);
    weigh<kEdge, kCount>(weights, begin, seen, base);
    drop(weights);
    add_weighted<kEdge, kColumns, kCount, kColumns>(sums, weights, tiles.values(turn), 0, begin, seen);
  }

  // After the last tile: sums over all keys.
  __device__ void finish() { sum[0] = row_sum(sum[0]), sum[1] = row_sum(sum[1]); }
};

// Joins two parts of a row's keys: gives the factor of each part's sums. Both parts have keys.
struct Joined {
  float max, sum, left, right;
  __device__ Joined(float left_max, float left_sum, float right_max, float right_sum, float base)
      : max(fmaxf(left_max, right_max)),
        left(left_max == max ? 1 : exponential((left_max - max) * base)),
        right(right_max == max ? 1 : exponential((right_max - max) * base)) {
    sum = fmaf(right_sum, right, left_sum * left);
  }
  __device__ float operator()(float left_sum, float right_sum) const { return fmaf(right_sum, right, left_sum * left); }
};

}  // namespace weft::cuda
