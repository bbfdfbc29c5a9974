// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/ops/embed.h"

namespace weft::cuda {
namespace {

// y[r] = dropout(scale * x[r] + positions[row_positions[r]]), or with x[index[r] - first] where x is a table; an index
// outside it gives 0.
template <class T>
struct EmbedArgs {
  const T* x;
  const int32_t* index = nullptr;
  int64_t first = 0, x_rows;
  float scale;
  const T* positions = nullptr;
  const int32_t* row_positions = nullptr;
  T* y;
  int64_t rows;
  int width;
  DropoutMask mask;

  EmbedArgs(const Tensor& x, double scale, const Dropout& dropout, const Tensor& y)
      : x(elements_of<T>(x)),
        x_rows(x.rows()),
        scale(static_cast<float>(scale)),
        y(elements_of<T>(y)),
        rows(y.rows()),
        width(static_cast<int>(y.columns())),
        mask(dropout) {}
  void look_up(const Tensor& indices, int64_t first_index) {
    index = indices.device_data<int32_t>();
    first = first_index;
  }
  void add(const Tensor& positions_or_absent, const Tensor& rows_or_absent) {
    positions = elements_of<T>(positions_or_absent);
    if (positions) row_positions = rows_or_absent.device_data<int32_t>();
  }

  bool aligned() const { return vectorised(x, width) && vectorised(positions, width) && vectorised(y, width); }
};

template <class T, bool kAligned, bool kOnce>
__global__ void __launch_bounds__(kRowThreads) embed_rows(const EmbedArgs<T> args) {
  constexpr int N = kVector<T>;
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= args.rows) return;  // a whole warp returns
  const int64_t source = args.index ? args.index[row] - args.first : row;
  const bool found = source >= 0 && source < args.x_rows;
  const T* const position = args.positions ? args.positions + args.row_positions[row] * int64_t{args.width} : nullptr;
  for_pieces<kOnce, N>(args.width, [&](int first) {
    const int left = args.width - first;
    float sum[N] = {}, other[N];
    if (found) {
      load_piece<kAligned>(args.x + source * args.width + first, left, sum);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] *= args.scale;
    }
    if (position) {
      load_piece<kAligned>(position + first, left, other);
#pragma unroll
      for (int i = 0; i < N; ++i) sum[i] += other[i];
    }
    if (args.mask.active()) args.mask.multiply(row, first, sum);
    store_piece<kAligned>(args.y + row * args.width + first, left, sum);
  });
}

template <class T>
void launch_embed(const Stream& stream, const EmbedArgs<T>& args) {
  const RowBlock rows = row_block(args.width, kVector<T>);
  with_row_form(args.aligned(), rows.once, [&]<bool kAligned, bool kOnce>() {
    launch(stream, embed_rows<T, kAligned, kOnce>, blocks_for(args.rows, rows.block.y), rows.block, 0, args);
  });
}

}  // namespace

template <>
size_t CudaBackend::workspace(const EmbedForward&) const {
  return 0;
}

template <>
void CudaBackend::run(const EmbedForward& args, Scratch) {
  with_device_type(args.y.dtype(), [&]<class T>() {
    EmbedArgs<T> rows(args.table, args.scale, args.dropout, args.y);
    rows.look_up(args.tokens, args.first_token);
    rows.add(args.positions, args.row_positions);
    launch_embed(stream(), rows);
  });
}

template <>
size_t CudaBackend::workspace(const AddPositionsForward&) const {
  return 0;
}

template <>
void CudaBackend::run(const AddPositionsForward& args, Scratch) {
  with_device_type(args.y.dtype(), [&]<class T>() {
    EmbedArgs<T> rows(args.x, args.scale, args.dropout, args.y);
    rows.add(args.positions, args.row_positions);
    launch_embed(stream(), rows);
  });
}

}  // namespace weft::cuda
