// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/cuda/column_sums.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/dropout.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/formulas/norm.h"
#include "kernels/ops/residual_norm.h"

namespace weft::cuda {
namespace {

// Returns dnormed or dsum, either of which has the shape of the rows.
const Tensor& any_of(const ResidualNormBackward& args) { return args.dnormed ? args.dnormed : args.dsum; }

int64_t runs_of(int64_t rows) { return std::clamp<int64_t>(rows / tuning::kNormRunRows, 1, tuning::kNormRuns); }

// Column sums of each run, [runs, width]; sums that are not needed are null.
struct RunSums {
  float *bias = nullptr, *gamma = nullptr, *beta = nullptr;

  RunSums(const ResidualNormBackward& args, Scratch& scratch) {
    const int64_t elements = runs_of(any_of(args).rows()) * any_of(args).columns();
    if (args.dbias) bias = scratch.take<float>(elements);
    if (args.dgamma) gamma = scratch.take<float>(elements);
    if (args.dbeta) beta = scratch.take<float>(elements);
  }
};

// ResidualNormBackward as the kernel takes it.
template <class T>
struct ResidualNormBackwardArgs {
  const T *dsum, *dnormed, *sum, *gamma;  // absent ones are null
  const float *mean, *rstd;
  T *dx, *dresidual;
  bool add_dx, add_dresidual;
  RunSums sums;
  bool sum_bias, sum_gamma, sum_beta;
  int64_t rows, run_rows;
  int width;
  DropoutMask mask;

  ResidualNormBackwardArgs(const ResidualNormBackward& args, const RunSums& sums)
      : dsum(elements_of<T>(args.dsum)),
        dnormed(elements_of<T>(args.dnormed)),
        sum(elements_of<T>(args.sum)),
        gamma(elements_of<T>(args.gamma)),
        mean(elements_of<float>(args.mean)),
        rstd(elements_of<float>(args.rstd)),
        dx(elements_of<T>(args.dx.tensor)),
        dresidual(elements_of<T>(args.dresidual.tensor)),
        add_dx(args.dx.mode == Accumulate::Add),
        add_dresidual(args.dresidual.mode == Accumulate::Add),
        sums(sums),
        sum_bias(args.dbias),
        sum_gamma(args.dgamma),
        sum_beta(args.dbeta),
        rows(any_of(args).rows()),
        run_rows((rows + runs_of(rows) - 1) / runs_of(rows)),
        width(static_cast<int>(any_of(args).columns())),
        mask(args.dropout) {}

  bool aligned() const {
    return vectorised(dsum, width) && vectorised(dnormed, width) && vectorised(sum, width) &&
           vectorised(gamma, width) && vectorised(dx, width) && vectorised(dresidual, width);
  }
};

// Sums over a run's rows of a thread's columns: in registers if it has one piece of each row, else in the run's row of
// `runs`, and one row of threads alone does the work.
template <bool kAligned, bool kOnce, int N>
class ColumnSum {
 public:
  __device__ ColumnSum(bool wanted, float* runs, int width)
      : run_(wanted ? runs + int64_t{blockIdx.x} * width : nullptr), width_(width) {
    if (kOnce || !run_) return;
    for_pieces<kOnce, N>(width_, [&](int first) { store_piece<kAligned>(run_ + first, width_ - first, sum_); });
  }
  __device__ void add(int first, const float (&x)[N]) {
    if (!run_) return;
    if constexpr (!kOnce) load_piece<kAligned>(run_ + first, width_ - first, sum_);
#pragma unroll
    for (int i = 0; i < N; ++i) sum_[i] += x[i];
    if constexpr (!kOnce) store_piece<kAligned>(run_ + first, width_ - first, sum_);
  }
  // Adds the block's rows of threads, and writes the sums.
  __device__ void finish(float* words) {
    if (!kOnce || !run_) return;
    sum_over_rows(sum_, words);
    if (threadIdx.y != 0) return;
    for_pieces<kOnce, N>(width_, [&](int first) { store_piece<kAligned>(run_ + first, width_ - first, sum_); });
  }

 private:
  float* run_;
  int width_;
  float sum_[N] = {};
};

// The rows that one row of threads works on, in turn. Those at or beyond the run's end have no columns.
template <class T, bool kAligned, bool kOnce>
class ResidualNormBackwardRows {
 public:
  static constexpr int N = kVector<T>;
  __device__ explicit ResidualNormBackwardRows(const ResidualNormBackwardArgs<T>& args)
      : args_(args),
        bias_(args.sum_bias, args.sums.bias, args.width),
        gamma_(args.sum_gamma, args.sums.gamma, args.width),
        beta_(args.sum_beta, args.sums.beta, args.width) {}

  // Has a later row brought to the L2 cache. A block has few rows in flight, each of which waits for its sums.
  __device__ void prefetch(int64_t row) const {
    const int first = static_cast<int>(threadIdx.x) * N;
    if (!kOnce || first >= args_.width) return;
    const int64_t at = row * args_.width + first;
    if (args_.dsum) prefetch_l2(args_.dsum + at);
    if (args_.dnormed) prefetch_l2(args_.dnormed + at), prefetch_l2(args_.sum + at);
  }

  // `words`: one pair for each warp.
  __device__ void row(int64_t row, bool here, float2* words) {
    const int columns = here ? args_.width : 0;
    const int64_t start = here ? row * args_.width : 0;
    float total[N], gradient[N], normal[N];
    float along_one = 0, along_normal = 0;
    const float rstd = args_.dnormed && here ? args_.rstd[row] : 0.0f;
    // Where there is one piece, all that the row reads is asked for at once, before its sums are waited for.
    if constexpr (kOnce) read_dsum(start, static_cast<int>(threadIdx.x) * N, columns, total);
    if (args_.dnormed) {
      const float mean = here ? args_.mean[row] : 0.0f;
      for_pieces<kOnce, N>(args_.width, [&](int first) {
        read(start, first, columns, mean, rstd, gradient, normal);
        sum_columns(first, gradient, normal);
        weigh(first, columns, gradient);
#pragma unroll
        for (int i = 0; i < N; ++i) along_one += gradient[i], along_normal += gradient[i] * normal[i];
      });
      row_sums(along_one, along_normal, words);
      along_one /= static_cast<float>(args_.width), along_normal /= static_cast<float>(args_.width);
    }
    for_pieces<kOnce, N>(args_.width, [&](int first) {
      const int left = columns - first;
      if constexpr (!kOnce) read_dsum(start, first, columns, total);
      if (args_.dnormed) {
        if constexpr (!kOnce) {
          read(start, first, columns, here ? args_.mean[row] : 0.0f, rstd, gradient, normal);
          weigh(first, columns, gradient);
        }
#pragma unroll
        for (int i = 0; i < N; ++i)
          total[i] += formulas::norm_gradient(gradient[i], normal[i], rstd, along_one, along_normal);
      }
      finish_piece(row, start, first, left, total);
    });
  }

  __device__ void finish(float* words) {
    bias_.finish(words);
    gamma_.finish(words);
    beta_.finish(words);
  }

 private:
  // dnormed, and n = (sum - mean) rstd; both 0 beyond the columns.
  __device__ void read(int64_t start, int first, int columns, float mean, float rstd, float (&dnormed)[N],
                       float (&normal)[N]) const {
    load_piece<kAligned>(args_.dnormed + start + first, columns - first, dnormed);
    load_piece<kAligned>(args_.sum + start + first, columns - first, normal);
#pragma unroll
    for (int i = 0; i < N; ++i) normal[i] = first + i < columns ? formulas::normalised(normal[i], mean, rstd) : 0.0f;
  }
  __device__ void read_dsum(int64_t start, int first, int columns, float (&total)[N]) const {
    if (args_.dsum) return load_piece<kAligned>(args_.dsum + start + first, columns - first, total);
#pragma unroll
    for (float& each : total) each = 0;
  }
  __device__ void sum_columns(int first, const float (&dnormed)[N], const float (&normal)[N]) {
    float product[N];
#pragma unroll
    for (int i = 0; i < N; ++i) product[i] = dnormed[i] * normal[i];
    gamma_.add(first, product);
    beta_.add(first, dnormed);
  }
  // dnormed becomes g = dnormed gamma.
  __device__ void weigh(int first, int columns, float (&dnormed)[N]) const {
    float gamma[N];
    load_piece<kAligned>(args_.gamma + first, columns - first, gamma);
#pragma unroll
    for (int i = 0; i < N; ++i) dnormed[i] *= gamma[i];
  }
  // d_total -> dresidual, dropout, bias and dx.
  __device__ void finish_piece(int64_t row, int64_t start, int first, int left, float (&total)[N]) {
    if (args_.dresidual) put(args_.dresidual + start + first, left, args_.add_dresidual, total);
    if (!args_.dx && !args_.sum_bias) return;
    if (args_.mask.active() && left > 0) args_.mask.multiply(row, first, total);
    bias_.add(first, total);
    if (args_.dx) put(args_.dx + start + first, left, args_.add_dx, total);
  }
  __device__ static void put(T* to, int left, bool add, const float (&total)[N]) {
    float x[N] = {};
    if (add) load_piece<kAligned>(to, left, x);
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = add ? x[i] + total[i] : total[i];
    store_piece<kAligned>(to, left, x);
  }

  const ResidualNormBackwardArgs<T>& args_;
  ColumnSum<kAligned, kOnce, N> bias_, gamma_, beta_;
};

template <class T, bool kAligned, bool kOnce>
__global__ void __launch_bounds__(kRowThreads, 2) residual_norm_backward(const ResidualNormBackwardArgs<T> args) {
  __shared__ float2 row_words[2][kRowWarps];
  __shared__ float column_words[kOnce ? kRowThreads * kVector<T> : 1];
  const int64_t begin = blockIdx.x * args.run_rows, end = min(begin + args.run_rows, args.rows);
  ResidualNormBackwardRows<T, kAligned, kOnce> rows(args);
  int turn = 0;
  for (int64_t first = begin; first < end; first += blockDim.y, turn ^= 1) {
    const int64_t row = first + threadIdx.y, later = row + blockDim.y;
    if (later < end) rows.prefetch(later);
    rows.row(row, row < end, row_words[turn]);
  }
  rows.finish(column_words);
}

template <class T>
void launch_backward(const Stream& stream, const ResidualNormBackward& args, const RunSums& sums) {
  const ResidualNormBackwardArgs<T> backward(args, sums);
  RowBlock rows = row_block(backward.width, kVector<T>, tuning::kNormBackwardThreads);
  with_row_form(backward.aligned(), rows.once, [&]<bool kAligned, bool kOnce>() {
    if (!kOnce) rows.block.y = 1;
    launch(stream, residual_norm_backward<T, kAligned, kOnce>, static_cast<unsigned>(runs_of(backward.rows)),
           rows.block, 0, backward);
  });
}

}  // namespace

template <>
size_t CudaBackend::workspace(const ResidualNormBackward& args) const {
  return scratch_bytes([&](Scratch& s) { RunSums(args, s); });
}

template <>
void CudaBackend::run(const ResidualNormBackward& args, Scratch scratch) {
  const RunSums sums(args, scratch);
  with_device_type(any_of(args).dtype(), [&]<class T>() { launch_backward<T>(stream(), args, sums); });
  std::vector<PartialSums> over_runs;
  const auto want = [&](const float* runs, const Gradient& to) {
    if (to) over_runs.push_back({runs, to.tensor.device_data<float>(), to.mode});
  };
  want(sums.bias, args.dbias);
  want(sums.gamma, args.dgamma);
  want(sums.beta, args.dbeta);
  add_partial_sums(stream(), over_runs, runs_of(any_of(args).rows()), any_of(args).columns());
}

}  // namespace weft::cuda
