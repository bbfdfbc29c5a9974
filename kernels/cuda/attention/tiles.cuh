// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/vector.cuh"

// Tiles of rows in shared memory: their layout, and copies to and from global memory.
namespace weft::cuda {

constexpr int kWarpRows = 16;  // rows of a tile that one warp owns: those of a tensor-core product

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % kWarp; }

// Returns x hidden from the compiler: it cannot move what a rare path computes from it ahead of a loop, where it would
// hold registers all the time.
__device__ inline int unforeseen(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Rows of kWidth elements, in chunks of 16 bytes that are permuted within each row: the same chunk of eight
// neighbouring rows lies in all 32 banks, and so do eight neighbouring chunks of a row.
template <class T, int kWidth>
struct TileRows {
  static constexpr int kInChunk = kVector<T>;
  static constexpr int kChunks = kWidth / kInChunk;
  static_assert(kChunks >= 4);

  // The element at which chunk c of row r begins.
  static __device__ int at(int r, int c) {
    const int turn = kChunks >= 8 ? r % 8 : r / 2 % 4;  // four chunks: two rows fill the banks
    return r * kWidth + (c ^ turn) * kInChunk;
  }
  // The element `chunks` chunks after at(r, c), if no bit is set in both chunks and c.
  static __device__ int after(int at, int chunks) { return at ^ chunks * kInChunk; }
  static __device__ int element(int r, int column) { return at(r, column / kInChunk) + column % kInChunk; }
};

// The block's threads ask for a tile of kRows rows: `rows` rows of `columns` elements, `stride` apart, and 0 around
// them. `vectors`: rows begin on multiples of 16 bytes and are whole vectors.
template <class T, int kWidth, int kRows, int kThreads>
__device__ void copy_tile(T* tile, const T* from, int64_t stride, int rows, int columns, bool vectors) {
  using Tile = TileRows<T, kWidth>;
  if (vectors) {
    constexpr int kOfRow = kThreads < Tile::kChunks ? kThreads : Tile::kChunks;
    constexpr int kAtOnce = kThreads / kOfRow;  // rows; a thread has the same chunks of each
    static_assert(kThreads % kOfRow == 0 && Tile::kChunks % kOfRow == 0 && kRows % kAtOnce == 0);
    const int thread = unforeseen(static_cast<int>(threadIdx.x)), c = thread % kOfRow;
    int r = thread / kOfRow;
    const T* at = from + r * stride + c * Tile::kInChunk;
#pragma unroll 1
    for (int i = 0; i < kRows / kAtOnce; ++i, r += kAtOnce, at += kAtOnce * stride) {
#pragma unroll
      for (int more = 0; more < Tile::kChunks; more += kOfRow) {
        const bool wanted = (c + more) * Tile::kInChunk < columns && r < rows;
        copy_16_later(tile + Tile::at(r, c + more), wanted ? at + more * Tile::kInChunk : from, wanted);
      }
    }
    return;
  }
  for (int at = unforeseen(static_cast<int>(threadIdx.x)); at < kRows * kWidth; at += kThreads) {
    const int r = at / kWidth, c = at % kWidth;
    tile[Tile::element(r, c)] = unforeseen(r) < rows && c < columns ? from[r * stride + c] : from_float<T>(0);
  }
}

// A warp asks for one row of a tile: `columns` elements, and 0 after them.
template <class T, int kWidth>
__device__ void copy_row(T* tile, int r, const T* from, int columns, bool vectors) {
  using Tile = TileRows<T, kWidth>;
  for (int c = lane(); vectors && c < Tile::kChunks; c += kWarp) {
    const bool inside = c * Tile::kInChunk < columns;
    copy_16_later(tile + Tile::at(r, c), inside ? from + c * Tile::kInChunk : from, inside);
  }
  for (int c = lane(); !vectors && c < kWidth; c += kWarp) {
    tile[Tile::element(r, c)] = c < columns ? from[c] : from_float<T>(0);
  }
}

// The columns of the sums that add_weighted() leaves in a thread: sums[c][2 h] and sums[c][2 h + 1] are row
// lane / 4 + 8 h, columns pair_column(c) and the next. In bf16 a tensor core decides; in f32 a thread has four
// neighbours, one 16-byte request for two c.
template <class T>
__device__ inline int pair_column(int c) {
  return sizeof(T) == 2 ? 8 * c + lane() % 4 * 2 : 8 * (c - c % 2) + lane() % 4 * 4 + c % 2 * 2;
}

// Puts the kWarpRows rows of a warp, each times its factor, into its rows of a tile, from `first` on.
template <int kWidth, int kColumns>
__device__ void put_rows(const float (&sums)[kColumns / 8][4], const float (&factor)[2], __nv_bfloat16* tile,
                         int first) {
  using Tile = TileRows<__nv_bfloat16, kWidth>;
#pragma unroll
  for (int c = 0; c < kColumns / 8; ++c) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = Tile::element(first + lane() / 4 + 8 * h, pair_column<__nv_bfloat16>(c));
      *reinterpret_cast<uint32_t*>(tile + at) = bf16_pair(sums[c][2 * h] * factor[h], sums[c][2 * h + 1] * factor[h]);
    }
  }
}
// Odd rows write the second of two neighbouring groups of four chunks while even rows write the first: two rows written
// together would lie in the same banks.
template <int kWidth, int kColumns>
__device__ void put_rows(const float (&sums)[kColumns / 8][4], const float (&factor)[2], float* tile, int first) {
  using Tile = TileRows<float, kWidth>;
  static_assert(kColumns % 32 == 0);
  const bool odd = lane() / 4 % 2 != 0;
#pragma unroll
  for (int c = 0; c < kColumns / 8; c += 4) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = first + lane() / 4 + 8 * h, chunk = 2 * c + lane() % 4;
      const auto group = [&](int g) {
        const auto &low = sums[c + 2 * g], &high = sums[c + 2 * g + 1];
        return make_float4(low[2 * h] * factor[h], low[2 * h + 1] * factor[h], high[2 * h] * factor[h],
                           high[2 * h + 1] * factor[h]);
      };
      const float4 x = group(0), y = group(1);
      *reinterpret_cast<float4*>(tile + Tile::at(row, chunk + (odd ? 4 : 0))) = odd ? y : x;
      *reinterpret_cast<float4*>(tile + Tile::at(row, chunk + (odd ? 0 : 4))) = odd ? x : y;
    }
  }
}

// Writes the kWarpRows rows of a warp, which lie in registers as add_weighted() leaves them (products.cuh), each times
// its factor: columns < `columns` of row r to to(r), unless that is null. They pass through the warp's own rows `first`
// .. of a tile, so that global memory is written in whole vectors.
template <class T, int kWidth, int kColumns, class RowPointer>
__device__ void store_rows(const float (&sums)[kColumns / 8][4], const float (&factor)[2], T* tile, int first,
                           int columns, bool vectors, RowPointer to) {
  using Tile = TileRows<T, kWidth>;
  __syncwarp();  // the warp has read what its rows held
  put_rows<kWidth, kColumns>(sums, factor, tile, first);
  __syncwarp();
  if (vectors) {
    constexpr int kChunks = kColumns / Tile::kInChunk;
#pragma unroll
    for (int i = 0; i < kWarpRows * kChunks / kWarp; ++i) {
      const int r = (i * kWarp + lane()) / kChunks, c = (i * kWarp + lane()) % kChunks;
      T* row = to(r);
      if (row == nullptr || c * Tile::kInChunk >= columns) continue;
      *reinterpret_cast<uint4*>(row + c * Tile::kInChunk) =
          *reinterpret_cast<const uint4*>(tile + Tile::at(first + r, c));
    }
    return;
  }
  for (int r = 0; r < kWarpRows; ++r) {
    T* row = to(r);
    if (row == nullptr) continue;
    for (int c = lane(); c < kColumns && c < columns; c += kWarp) row[c] = tile[Tile::element(first + r, c)];
  }
}

}  // namespace weft::cuda
