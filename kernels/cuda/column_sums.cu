// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

template <class T, int N>
struct ReadMatrix {
  static constexpr int kRowsAtOnce = 4;
  const T* x;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    load_whole(x + row * columns + column, v);
  }
};

struct PartialSumsTable {
  PartialSums of[kMostPartialSums];
};

// Block (i, j) sums columns 32 N i .. 32 N (i + 1) of the j-th matrix of the table.
template <int N>
__global__ void column_sums_join(const __grid_constant__ PartialSumsTable table, int64_t rows, int64_t columns) {
  const PartialSums& sums = table.of[blockIdx.y];
  sum_chunk_of<N>(ReadMatrix<float, N>{sums.from, columns}, 0, rows, columns, sums.to, sums.mode == Accumulate::Add);
}

template <class T>
void sum_matrix(const Stream& stream, const T* x, int64_t rows, int64_t columns, float* out, Accumulate mode,
                Scratch& scratch) {
  if (vectorised(x, columns)) {
    sum_columns<kVector<T>>(stream, ReadMatrix<T, kVector<T>>{x, columns}, rows, columns, out, mode, scratch);
  } else {
    sum_columns<1>(stream, ReadMatrix<T, 1>{x, columns}, rows, columns, out, mode, scratch);
  }
}

}  // namespace

RowChunks::RowChunks(int64_t of)
    : count(
          std::clamp<int64_t>((of + tuning::kLeastChunkRows - 1) / tuning::kLeastChunkRows, 1, tuning::kMostRowChunks)),
      rows((of + count - 1) / count) {}

void add_partial_sums(const Stream& stream, std::span<const PartialSums> sums, int64_t rows, int64_t columns) {
  PartialSumsTable table;
  require<InternalError>(sums.size() <= kMostPartialSums, "{} matrices of partial sums in one launch", sums.size());
  std::copy(sums.begin(), sums.end(), table.of);
  const auto start = [&]<int N>() {
    const dim3 grid(blocks_for(columns, kWarp * N), static_cast<unsigned>(sums.size()));
    launch(stream, column_sums_join<N>, grid, dim3(kWarp, tuning::kChunkWarps), 0, table, rows, columns);
  };
  const bool vectors = std::ranges::all_of(
      sums, [&](const PartialSums& s) { return vectorised(s.from, columns) && vectorised(s.to, columns); });
  vectors ? start.template operator()<kVector<float>>() : start.template operator()<1>();
}

size_t column_sums_bytes(int64_t rows, int64_t columns) {
  return scratch_bytes([&](Scratch& scratch) { scratch.take<float>(RowChunks(rows).count * columns); });
}

void column_sums(const Stream& stream, const Tensor& x, const Tensor& out, Accumulate mode, Scratch& scratch) {
  with_device_type(x.dtype(), [&]<class T>() {
    sum_matrix(stream, elements_of<T>(x), x.rows(), x.columns(), out.device_data<float>(), mode, scratch);
  });
}

}  // namespace weft::cuda
