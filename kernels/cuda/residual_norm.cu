// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/formulas/norm.h"
#include "kernels/ops/residual_norm.h"

namespace weft::cuda {
namespace {

// ResidualNormForward as the kernel takes it. X: the dtype of x, T that of everything else.
template <class T, class X>
struct ResidualNormForwardArgs {
  const X* x;
  const T *bias, *residual, *gamma, *beta;  // absent ones are null
  T *sum, *normed;
  float *mean, *rstd;  // mean: null if none is subtracted
  int64_t rows;
  int width;
  float epsilon;
  DropoutMask mask;

  explicit ResidualNormForwardArgs(const ResidualNormForward& args)
      : x(elements_of<X>(args.x)),
        bias(elements_of<T>(args.bias)),
        residual(elements_of<T>(args.residual)),
        gamma(elements_of<T>(args.gamma)),
        beta(elements_of<T>(args.beta)),
        sum(elements_of<T>(args.sum)),
        normed(elements_of<T>(args.normed)),
        mean(elements_of<float>(args.mean)),
        rstd(elements_of<float>(args.rstd)),
        rows(args.x.rows()),
        width(static_cast<int>(args.x.columns())),
        epsilon(static_cast<float>(args.epsilon)),
        mask(args.dropout) {}

  bool aligned() const {
    return vectorised(x, width) && vectorised(bias, width) && vectorised(residual, width) && vectorised(gamma, width) &&
           vectorised(beta, width) && vectorised(sum, width) && vectorised(normed, width);
  }
};

// One row, as its threads see it. A row beyond the last has no columns: its threads take part in the barriers alone.
template <class T, class X, bool kAligned, bool kOnce>
struct ResidualNormRow {
  static constexpr int N = kVector<T>;
  const ResidualNormForwardArgs<T, X>& args;
  int64_t row, start;  // start: the row's first element
  int columns;

  // residual + dropout(x + bias), rounded to T as `sum` is: statistics are of the values that backward will read.
  __device__ void add(int first, float (&total)[N]) const {
    const int left = left_from<kAligned, N>(first, columns);
    load_piece<kAligned>(args.x + start + first, columns - first, total);
    float other[N];
    if (args.bias) {
      load_piece<kAligned>(args.bias + first, left, other);
#pragma unroll
      for (int i = 0; i < N; ++i) total[i] += other[i];
    }
    if (args.mask.active() && columns > 0) args.mask.multiply(row, first, total);
    if (args.residual) {
      load_piece<kAligned>(args.residual + start + first, left, other);
#pragma unroll
      for (int i = 0; i < N; ++i) total[i] += other[i];
    }
    if (!args.sum) return;
#pragma unroll
    for (int i = 0; i < N; ++i) total[i] = to_float(from_float<T>(total[i]));
    store_piece<kAligned>(args.sum + start + first, left, total);
  }

  // Reads what add() gave: the threads of a wide row have not kept it.
  __device__ void read_again(int first, float (&total)[N]) const {
    if constexpr (kOnce) return;
    if (args.sum) {
      load_piece<kAligned>(args.sum + start + first, left_from<kAligned, N>(first, columns), total);
    } else {
      load_piece<kAligned>(args.x + start + first, columns - first, total);
    }
  }

  __device__ void normalise(int first, const float (&total)[N], float mean, float rstd) const {
    const int left = left_from<kAligned, N>(first, columns);
    float gamma[N], beta[N] = {}, normed[N];
    load_piece<kAligned>(args.gamma + first, left, gamma);
    if (args.beta) load_piece<kAligned>(args.beta + first, left, beta);
#pragma unroll
    for (int i = 0; i < N; ++i) normed[i] = formulas::normalised(total[i], mean, rstd) * gamma[i] + beta[i];
    store_piece<kAligned>(args.normed + start + first, left, normed);
  }
};

template <class T, class X, bool kAligned, bool kOnce>
__global__ void __launch_bounds__(kRowThreads) residual_norm_forward(const ResidualNormForwardArgs<T, X> args) {
  constexpr int N = kVector<T>;
  __shared__ float words[2][kRowWarps];
  const int64_t at = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  const bool here = at < args.rows;
  const ResidualNormRow<T, X, kAligned, kOnce> row{args, at, here ? at * args.width : 0, here ? args.width : 0};
  float total[N], sum = 0;
  for_pieces<kOnce, N>(args.width, [&](int first) {
    row.add(first, total);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += first + i < row.columns ? total[i] : 0.0f;
  });
  if (!args.normed) return;
  const float count = static_cast<float>(args.width);
  const float mean = args.mean ? row_sum(sum, words[0]) / count : 0.0f;
  float squares = 0;
  for_pieces<kOnce, N>(args.width, [&](int first) {
    row.read_again(first, total);
#pragma unroll
    for (int i = 0; i < N; ++i) squares += first + i < row.columns ? (total[i] - mean) * (total[i] - mean) : 0.0f;
  });
  const float rstd = formulas::inverse_deviation(row_sum(squares, words[1]) / count, args.epsilon);
  if (here && threadIdx.x == 0) {
    if (args.mean) args.mean[at] = mean;
    args.rstd[at] = rstd;
  }
  for_pieces<kOnce, N>(args.width, [&](int first) {
    row.read_again(first, total);
    row.normalise(first, total, mean, rstd);
  });
}

template <class T, class X>
void launch_forward(const Stream& stream, const ResidualNormForward& args) {
  const ResidualNormForwardArgs<T, X> forward(args);
  const RowBlock rows = row_block(forward.width, kVector<T>);
  with_row_form(forward.aligned(), rows.once, [&]<bool kAligned, bool kOnce>() {
    launch(stream, residual_norm_forward<T, X, kAligned, kOnce>, blocks_for(forward.rows, rows.block.y), rows.block, 0,
           forward);
  });
}

}  // namespace

template <>
size_t CudaBackend::workspace(const ResidualNormForward&) const {
  return 0;
}

template <>
void CudaBackend::run(const ResidualNormForward& args, Scratch) {
  with_device_type((args.sum ? args.sum : args.x).dtype(), [&]<class T>() {
    if (args.x.dtype() == DType::F32) return launch_forward<T, float>(stream(), args);
    launch_forward<T, T>(stream(), args);
  });
}

}  // namespace weft::cuda
