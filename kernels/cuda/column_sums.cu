#include <algorithm>

#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/types.h"

namespace weft::cuda {
namespace {

constexpr int64_t kMostChunks = 128;  // enough blocks for every multiprocessor of a large device
constexpr int64_t kLeastRows = 64;    // of a chunk: its sums in f32 are 3 % of what a chunk in bf16 is

template <class T, int N>
struct ReadMatrix {
  const T* x;
  int64_t columns;
  __device__ void operator()(int64_t row, int64_t column, float (&v)[N]) const {
    if constexpr (N == 1) {
      v[0] = to_float(x[row * columns + column]);
    } else {
      load_vector(x + row * columns + column, v);
    }
  }
};

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
    : count(std::clamp<int64_t>((of + kLeastRows - 1) / kLeastRows, 1, kMostChunks)), rows((of + count - 1) / count) {}

void add_chunks(const Stream& stream, const float* partial, int64_t chunks, int64_t columns, float* out,
                Accumulate mode) {
  const auto start = [&]<int N>() {
    launch(stream, sum_chunk<N, ReadMatrix<float, N>>, blocks_for(columns, kWarp * N), dim3(kWarp, kRowsAtOnce), 0,
           ReadMatrix<float, N>{partial, columns}, chunks, columns, chunks, out, mode == Accumulate::Add);
  };
  constexpr int kMost = kVector<float>;
  vectorised(out, columns) ? start.template operator()<kMost>() : start.template operator()<1>();
}

size_t column_sums_bytes(int64_t rows, int64_t columns) {
  return scratch_bytes([&](Scratch& scratch) { scratch.take<float>(RowChunks(rows).count * columns); });
}

void column_sums(const Stream& stream, const Tensor& x, const Tensor& out, Accumulate mode, Scratch& scratch) {
  with_device_type(x.dtype(), [&]<class T>() {
    sum_matrix(stream, elements_of<T>(x), x.rows(), x.columns(), out.device_data<float>(), mode, scratch);
  });
}

void column_sums(const Stream& stream, const float* x, int64_t rows, int64_t columns, float* out, Accumulate mode,
                 Scratch& scratch) {
  sum_matrix(stream, x, rows, columns, out, mode, scratch);
}

}  // namespace weft::cuda
