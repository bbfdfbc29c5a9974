#pragma once
#include "kernels/backend/scratch.h"
#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/vector.cuh"

namespace weft::cuda {

// How rows are divided among blocks: by their number alone.
struct RowChunks {
  int64_t count, rows;
  explicit RowChunks(int64_t of);
};
constexpr int kWarp = 32;
constexpr int kRowsAtOnce = 8;  // warps of a block, each on a row of its own

// Block (i, j): columns 32 N i .. 32 N (i + 1) and rows of chunk j, to partial[j]. A warp takes 32 N neighbouring
// elements of one row at a time, N a thread: read(row, column, v) brings them, from wherever they come, and may write
// what it makes of them. The block's warps take the chunk's rows in turn and are added in their order.
template <int N, class Read>
__global__ void sum_chunk(Read read, int64_t rows, int64_t columns, int64_t chunk_rows, float* partial) {
  __shared__ float parts[kRowsAtOnce][N][kWarp];
  const int64_t first = (int64_t{blockIdx.x} * kWarp + threadIdx.x) * N;
  const int64_t begin = int64_t{blockIdx.y} * chunk_rows, end = min(begin + chunk_rows, rows);
  float sum[N] = {};
  for (int64_t r = begin + threadIdx.y; first < columns && r < end; r += kRowsAtOnce) {
    float v[N];
    read(r, first, v);
#pragma unroll
    for (int i = 0; i < N; ++i) sum[i] += v[i];
  }
#pragma unroll
  for (int i = 0; i < N; ++i) parts[threadIdx.y][i][threadIdx.x] = sum[i];
  __syncthreads();
  if (threadIdx.y != 0 || first >= columns) return;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    float total = 0;
    for (int w = 0; w < kRowsAtOnce; ++w) total += parts[w][i][threadIdx.x];
    partial[blockIdx.y * columns + first + i] = total;
  }
}

// out[c] = sum over chunks of partial[., c], in their order.
void add_chunks(const Stream& stream, const float* partial, int64_t chunks, int64_t columns, float* out,
                Accumulate mode);

// Sums over rows of what `read` brings, N columns at a time, which must divide `columns`. Without rows the sums are 0.
template <int N, class Read>
void sum_columns(const Stream& stream, const Read& read, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch) {
  const RowChunks chunks(rows);
  auto* partial = scratch.take<float>(chunks.count * columns);
  launch(stream, sum_chunk<N, Read>, dim3(blocks_for(columns, kWarp * N), static_cast<unsigned>(chunks.count)),
         dim3(kWarp, kRowsAtOnce), 0, read, rows, columns, chunks.rows, partial);
  add_chunks(stream, partial, chunks.count, columns, out, mode);
}

}  // namespace weft::cuda
