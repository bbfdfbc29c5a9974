// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend/scratch.h"
#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {

// The division of rows among blocks, which depends on the number of rows alone.
struct RowChunks {
  int64_t count, rows;
  explicit RowChunks(int64_t of);
};

// to (+)= x, for one column or for four that begin on a multiple of 16 bytes.
__device__ inline void add_columns(float* to, const float (&x)[1], bool add) { *to = add ? *to + x[0] : x[0]; }
__device__ inline void add_columns(float* to, float (&x)[4], bool add) {
  if (add) {
    float before[4];
    load_vector(to, before);
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = before[i] + x[i];
  }
  store_vector(to, x);
}

// to[c] (+)= the sum of rows begin .. end of columns 32 N i .. 32 N (i + 1), i the block's x. A warp takes 32 N
// neighbouring elements of one row at a time, N a thread: read(row, column, v) loads or computes them, and may store
// them elsewhere. Read::kRowsAtOnce: how many rows a thread asks for before it adds the first. The block's warps take
// the rows in turn and are added in their order, four columns a thread if N allows.
template <int N, class Read>
__device__ void sum_chunk_of(const Read& read, int64_t begin, int64_t end, int64_t columns, float* to, bool add) {
  constexpr int kColumns = N % 4 == 0 ? 4 : 1, kAtOnce = Read::kRowsAtOnce;
  constexpr int kStride = kWarp + kWarp / N;  // so that threads that add neighbouring columns use different banks
  __shared__ float parts[tuning::kChunkWarps][N][kStride];
  const int64_t tile = int64_t{blockIdx.x} * kWarp * N, first = tile + threadIdx.x * N;
  float sum[N] = {};
  for (int64_t r = begin + threadIdx.y; first < columns && r < end; r += kAtOnce * tuning::kChunkWarps) {
    float v[kAtOnce][N] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t row = r + k * tuning::kChunkWarps;
      if (row < end) read(row, first, v[k]);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += v[k][i];
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) parts[threadIdx.y][i][threadIdx.x] = sum[i];
  __syncthreads();
  const int mine = static_cast<int>(threadIdx.y * kWarp + threadIdx.x) * kColumns;
  if (mine >= kWarp * N || tile + mine >= columns) return;
  float total[kColumns] = {};
  for (int w = 0; w < tuning::kChunkWarps; ++w) {
#pragma unroll
    for (int c = 0; c < kColumns; ++c) total[c] += parts[w][(mine + c) % N][(mine + c) / N];
  }
  add_columns(to + tile + mine, total, add);
}

// Block (i, j) sums the rows of chunk j into the j-th row of `to`.
template <int N, class Read>
__global__ void column_sums_chunk(Read read, int64_t rows, int64_t columns, int64_t chunk_rows, float* to) {
  const int64_t begin = int64_t{blockIdx.y} * chunk_rows;
  sum_chunk_of<N>(read, begin, min(begin + chunk_rows, rows), columns, to + blockIdx.y * columns, false);
}

// Sums over rows the values that `read` gives, N columns at a time. N divides `columns`. Without rows the sums are 0.
template <int N, class Read>
void sum_columns(const Stream& stream, const Read& read, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch) {
  const RowChunks chunks(rows);
  auto* partial = scratch.take<float>(chunks.count * columns);
  launch(stream, column_sums_chunk<N, Read>, dim3(blocks_for(columns, kWarp * N), static_cast<unsigned>(chunks.count)),
         dim3(kWarp, tuning::kChunkWarps), 0, read, rows, columns, chunks.rows, partial);
  const PartialSums sums{partial, out, mode};
  add_partial_sums(stream, {&sums, 1}, chunks.count, columns);
}

}  // namespace weft::cuda
