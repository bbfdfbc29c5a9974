// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/attention/mask.cuh"

// A warp's two products with 16 rows of one tile: scores with the rows of another, and the sums of another's rows with
// scores as weights. bf16 uses tensor cores, f32 fused multiply-adds with the same elements in the same threads, so
// that everything around them is written once. A row's sums do not depend on the other rows, nor on its place in the
// warp.
namespace weft::cuda {

__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ inline void load_matrices_transposed(uint32_t (&to)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(shared_address(row))
               : "memory");
}
// sums[16 x 8] += a[16 x 16] b[16 x 8]
__device__ inline void multiply_add(float (&sums)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int kCount>
__device__ void clear(float (&sums)[kCount][4]) {
#pragma unroll
  for (auto& block : sums) block[0] = block[1] = block[2] = block[3] = 0;
}

// lane(), from which the places of fragments follow. Wide heads have many: computed ahead of the loop over tiles, they
// would not leave enough registers for the sums.
template <int kWidth>
__device__ int lane_of_tile() {
  return kWidth > 64 ? unforeseen(lane()) : lane();
}

// scores = a b^T of rows first .. first + 16 of tile a and rows 0 .. kCount of tile b. kAtOnce: steps of 16 columns
// whose elements may be in registers at once.
template <int kWidth, int kCount, int kAtOnce = 4>
__device__ void row_products(const __nv_bfloat16* a, int first, const __nv_bfloat16* b,
                             float (&scores)[kCount / 8][4]) {
  using Tile = TileRows<__nv_bfloat16, kWidth>;
  const int l = lane_of_tile<kWidth>(), a_at = Tile::at(first + l % 16, l / 16);
  const int b_at = Tile::at(l % 8 + l / 16 * 8, l / 8 % 2);
  clear(scores);
#pragma unroll kAtOnce
  for (int k = 0; k < kWidth / 16; ++k) {
    uint32_t left[4];
    load_matrices(left, a + Tile::after(a_at, 2 * k));
#pragma unroll
    for (int j = 0; j < kCount / 16; ++j) {
      uint32_t right[4];
      load_matrices(right, b + 16 * j * kWidth + Tile::after(b_at, 2 * k));
      multiply_add(scores[2 * j], left, right[0], right[1]);
      multiply_add(scores[2 * j + 1], left, right[2], right[3]);
    }
  }
}

template <int kWidth, int kCount, int kAtOnce = 1>
__device__ void row_products(const float* a, int first, const float* b, float (&scores)[kCount / 8][4]) {
  using Tile = TileRows<float, kWidth>;
  static_assert(Tile::kChunks % 8 == 0);
  // The four lanes of a row take its chunks in orders of their own. So one request of all lanes asks for 32 different
  // chunks of `a`, as many as it can bring, and for four of `b` that lie in different banks.
  constexpr uint32_t kOrders = 0x2640;  // 0, 4, 6, 2 by lane % 4: with 2 (lane % 4), a row of b, they differ too
  const int a_row = first + lane() / 4, b_row = lane() % 4 * 2, turn = static_cast<int>(kOrders >> 2 * b_row & 7u);
  clear(scores);
#pragma unroll 1
  for (int step = 0; step < Tile::kChunks; ++step) {
    const int k = step ^ turn;
    float left[2][4], right[2][4];
    load_vector(a + Tile::at(a_row, k), left[0]);
    load_vector(a + Tile::at(a_row + 8, k), left[1]);
#pragma unroll
    for (int j = 0; j < kCount / 8; ++j) {
      load_vector(b + Tile::at(8 * j + b_row, k), right[0]);
      load_vector(b + Tile::at(8 * j + b_row + 1, k), right[1]);
#pragma unroll
      for (int e = 0; e < 4; ++e) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[j][i] = fmaf(left[i / 2][e], right[i % 2][e], scores[j][i]);
        }
      }
    }
  }
}

// Returns the k-th of the 8 weights that four lanes hold of a row, for rows lane / 4 and lane / 4 + 8.
__device__ inline void weight_of(const float (&block)[4], int k, float (&weight)[2]) {
  const int from = lane() / 4 * 4 + k / 2;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float even = __shfl_sync(kAllLanes, block[2 * h], from), odd = __shfl_sync(kAllLanes, block[2 * h + 1], from);
    weight[h] = k % 2 == 0 ? even : odd;
  }
}

// Sets all bits of each of two bf16 that is not finite.
__device__ inline uint32_t non_finite(uint32_t pair) {
  const uint32_t low = (pair & 0x7f80u) == 0x7f80u ? 0xffffu : 0,
                 high = (pair & 0x7f800000u) == 0x7f800000u ? ~0xffffu : 0;
  return low | high;
}

// Makes each sum that sees a non-finite element NaN, since add_weighted() hides such elements from the tensor core. A
// separate product finds these sums: ones where a row sees, times ones where an element is not finite. It is rare,
// so the code is short rather than fast.
template <int kWidth, int kCount, int kColumns, class SeenRows>
__device__ void spoil_sums(float (&sums)[kColumns / 8][4], const __nv_bfloat16* tile, int first_column, int begin,
                           const SeenRows& seen) {
  using Tile = TileRows<__nv_bfloat16, kWidth>;
  constexpr uint32_t kOnes = 0x3f803f80u;
  const int l = unforeseen(lane()), at = Tile::at(l % 16, l / 16 + first_column / 8);
  const int column = unforeseen(begin + lane() % 4 * 2);
  const auto sees = [&](int h, int k) {
    return kOnes & ((seen(h, column + k) ? 0xffffu : 0) | (seen(h, column + k + 1) ? ~0xffffu : 0));
  };
#pragma unroll 1
  for (int k = 0; k < kCount; k += 16) {
    const uint32_t left[4] = {sees(0, k), sees(1, k), sees(0, k + 8), sees(1, k + 8)};
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {
      uint32_t right[4];
      load_matrices_transposed(right, tile + k * kWidth + Tile::after(at, 2 * c));
      float hits[2][4] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(hits[half], left, kOnes & non_finite(right[2 * half]), kOnes & non_finite(right[2 * half + 1]));
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          float& sum = sums[2 * c + half][i];
          sum = hits[half][i] > 0 ? __int_as_float(0x7fffffff) : sum;
        }
      }
    }
  }
}

// sums += weights tile, over the tile's rows 0 .. kCount, which are columns begin .. of the weights, for its columns
// first_column .. first_column + kColumns. kEdge: some row does not see all of them. Its weights there are 0, but still
// take no part: 0 times an infinity is not 0.
template <bool kEdge, int kWidth, int kCount, int kColumns, class SeenRows>
__device__ void add_weighted(float (&sums)[kColumns / 8][4], const float (&weights)[kCount / 8][4],
                             const __nv_bfloat16* tile, int first_column, int begin, const SeenRows& seen) {
  using Tile = TileRows<__nv_bfloat16, kWidth>;
  const int l = lane_of_tile<kWidth>(), at = Tile::at(l % 16, l / 16 + first_column / 8);
  uint32_t left_out = 0;
#pragma unroll
  for (int k = 0; k < kCount / 16; ++k) {
    if (kEdge && !seen.any(begin + 16 * k, 16)) continue;
    const auto &low = weights[2 * k], &high = weights[2 * k + 1];
    const uint32_t left[4] = {bf16_pair(low[0], low[1]), bf16_pair(low[2], low[3]), bf16_pair(high[0], high[1]),
                              bf16_pair(high[2], high[3])};
#pragma unroll
    for (int c = 0; c < kColumns / 16; ++c) {
      uint32_t right[4];
      load_matrices_transposed(right, tile + 16 * k * kWidth + Tile::after(at, 2 * c));
      if constexpr (kEdge) {
#pragma unroll
        for (uint32_t& word : right) {
          const uint32_t out = non_finite(word);
          left_out |= out;
          word &= ~out;
        }
      }
      multiply_add(sums[2 * c], left, right[0], right[1]);
      multiply_add(sums[2 * c + 1], left, right[2], right[3]);
    }
  }
  if constexpr (kEdge) {
    if (__any_sync(kAllLanes, left_out != 0)) {
      spoil_sums<kWidth, kCount, kColumns>(sums, tile, first_column, begin, seen);
    }
  }
}

template <bool kEdge, int kWidth, int kCount, int kColumns, class SeenRows>
__device__ void add_weighted(float (&sums)[kColumns / 8][4], const float (&weights)[kCount / 8][4], const float* tile,
                             int first_column, int begin, const SeenRows& seen) {
  using Tile = TileRows<float, kWidth>;
#pragma unroll
  for (int j = 0; j < kCount / 8; ++j) {
    if (kEdge && !seen.any(begin + 8 * j, 8)) continue;
#pragma unroll 1
    for (int k = 8 * j; k < 8 * j + 8; ++k) {
      float weight[2];
      weight_of(weights[j], k % 8, weight);
      const bool sees[2] = {!kEdge || seen(0, begin + k), !kEdge || seen(1, begin + k)};
#pragma unroll
      for (int c = 0; c < kColumns / 8; c += 2) {
        float row[4];
        load_vector(tile + Tile::element(k, first_column + pair_column<float>(c)), row);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& to = sums[c + i / 4][i % 4];
          const float sum = fmaf(weight[i % 4 / 2], row[i / 4 * 2 + i % 2], to);
          to = sees[i % 4 / 2] ? sum : to;
        }
      }
    }
  }
}

}  // namespace weft::cuda
