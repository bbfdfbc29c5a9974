#include <algorithm>

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/types.h"
#include "kernels/cuda/vector.cuh"

namespace weft::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kRowsAtOnce = 8;      // warps of a block, each on a row of its own
constexpr int kMostChunks = 128;    // enough blocks for every multiprocessor of a large device
constexpr int64_t kLeastRows = 32;  // of a chunk: fewer are not worth a block

int64_t chunks_of(int64_t rows) { return std::clamp<int64_t>((rows + kLeastRows - 1) / kLeastRows, 1, kMostChunks); }

// Block (i, j): columns i * 32 N .. and rows of chunk j, to partial[j]. A warp reads 32 N neighbouring elements of one
// row at a time, N a thread; the block's warps take the chunk's rows in turn and are added in their order.
template <class T, int N>
__global__ void sum_chunks(const T* x, int64_t rows, int64_t columns, int64_t chunk_rows, float* partial) {
  __shared__ float parts[kRowsAtOnce][N][kWarp];
  const int64_t first = (int64_t{blockIdx.x} * kWarp + threadIdx.x) * N;
  const int64_t begin = int64_t{blockIdx.y} * chunk_rows, end = min(begin + chunk_rows, rows);
  float sum[N] = {};
  if (first < columns) {
    for (int64_t r = begin + threadIdx.y; r < end; r += kRowsAtOnce) {
      float v[N];
      if constexpr (N == 1) {
        v[0] = to_float(x[r * columns + first]);
      } else {
        load_vector(x + r * columns + first, v);
      }
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += v[i];
    }
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

__global__ void add_chunks(const float* partial, int64_t chunks, int64_t columns, float* out, bool add) {
  const int64_t c = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float total = 0;
  for (int64_t j = 0; j < chunks; ++j) total += partial[j * columns + c];
  out[c] = add ? out[c] + total : total;
}

template <class T>
void sum_columns(const Stream& stream, const T* x, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch) {
  const int64_t chunks = chunks_of(rows), chunk_rows = (rows + chunks - 1) / chunks;
  float* partial = scratch.take<float>(chunks * columns);
  const dim3 block(kWarp, kRowsAtOnce);
  constexpr int kN = kVector<T>;
  if (vectorised(x, columns)) {
    launch(stream, sum_chunks<T, kN>, dim3(blocks_for(columns, kWarp * kN), chunks), block, 0, x, rows, columns,
           chunk_rows, partial);
  } else {
    launch(stream, sum_chunks<T, 1>, dim3(blocks_for(columns, kWarp), chunks), block, 0, x, rows, columns, chunk_rows,
           partial);
  }
  constexpr int kThreads = 128;
  launch(stream, add_chunks, blocks_for(columns, kThreads), kThreads, 0, partial, chunks, columns, out,
         mode == Accumulate::Add);
}

}  // namespace

size_t column_sums_bytes(int64_t rows, int64_t columns) {
  return scratch_bytes([&](Scratch& scratch) { scratch.take<float>(chunks_of(rows) * columns); });
}

void column_sums(const Stream& stream, const Tensor& x, const Tensor& out, Accumulate mode, Scratch& scratch) {
  with_device_type(x.dtype(), [&]<class T>() {
    sum_columns(stream, elements_of<T>(x), x.rows(), x.columns(), out.device_data<float>(), mode, scratch);
  });
}

void column_sums(const Stream& stream, const float* x, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch) {
  sum_columns(stream, x, rows, columns, out, mode, scratch);
}

}  // namespace weft::cuda
