// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "kernels/cuda/async_copy.cuh"
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

using tuning::kNormBackwardThreads;

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
  const float *mean, *rstd;               // mean: null if none was subtracted
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

// Where the column sums of a block's run go; null if they are not wanted.
__device__ inline float* run_of(bool wanted, float* runs, int width) {
  return wanted ? runs + int64_t{blockIdx.x} * width : nullptr;
}

// total + norm'(gradient), from g = dnormed gamma and n = (sum - mean) rstd.
template <int N>
__device__ inline void add_norm_gradient(const float (&gradient)[N], const float (&normal)[N], float rstd,
                                         float along_one, float along_normal, float (&total)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i)
    total[i] += formulas::norm_gradient(gradient[i], normal[i], rstd, along_one, along_normal);
}

// to (+)= total
template <bool kAligned, int N, class T>
__device__ inline void put(T* to, int64_t left, bool add, const float (&total)[N]) {
  float x[N] = {};
  if (add) load_piece<kAligned>(to, left, x);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = add ? x[i] + total[i] : total[i];
  store_piece<kAligned>(to, left, x);
}

// Rows of which no thread has two pieces. A thread asks for its piece of the next row before it works on this one, and
// keeps the sums of its columns over all its rows in registers. Rows at or beyond the run's end are rows of 0, as are
// pieces beyond the width. kDropped: whether the mask drops anything.
template <class T, bool kDropped>
class KeptRows {
 public:
  static constexpr int N = kVector<T>;
  // What a thread reads of a row, twice: of the row that it works on and of the next one.
  using Waiting = uint4[2][3][kNormBackwardThreads];

  __device__ KeptRows(const ResidualNormBackwardArgs<T>& args, Waiting& waiting, int64_t end)
      : args_(args),
        waiting_(waiting),
        end_(end),
        first_(static_cast<int>(threadIdx.x) * N),
        thread_(static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x)),
        inverse_width_(1 / static_cast<float>(args.width)) {
    if (args.dnormed && inside()) gamma_ = *reinterpret_cast<const uint4*>(args.gamma + first_);
  }

  __device__ void ask(int64_t row, int turn) {
    const bool here = row < end_ && inside();
    const int64_t at = here ? row * args_.width + first_ : 0;
    const auto copy = [&](int which, const T* from) {
      copy_16_later(&waiting_[turn][which][thread_], from + at, here);
    };
    if (args_.dsum) copy(0, args_.dsum);
    if (args_.dnormed) {
      copy(1, args_.dnormed), copy(2, args_.sum);
      next_mean_ = here && args_.mean ? args_.mean[row] : 0.0f, next_rstd_ = here ? args_.rstd[row] : 0.0f;
    }
    commit_copies();
  }

  // Works on `row`, which ask() has asked for last, and asks for `later`. `words`: one pair for each warp.
  __device__ void work(int64_t row, int64_t later, int turn, float2* words) {
    const float mean = next_mean_, rstd = next_rstd_;
    ask(later, turn ^ 1);
    wait_for_copies<1>();
    float total[N] = {};
    if (args_.dnormed) {
      float gradient[N], normal[N], gamma[N];
      take(turn, 1, gradient), take(turn, 2, normal);
      load_vector(reinterpret_cast<const T*>(&gamma_), gamma);
      float along_one = 0, along_normal = 0;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        normal[i] = formulas::normalised(normal[i], mean, rstd);
        gamma_sum_[i] += gradient[i] * normal[i];
        beta_sum_[i] += gradient[i];
        gradient[i] *= gamma[i];
        along_one += gradient[i], along_normal += gradient[i] * normal[i];
      }
      row_sums(along_one, along_normal, words);
      if (args_.dsum) take(turn, 0, total);
      along_one = args_.mean ? along_one * inverse_width_ : 0.0f;
      add_norm_gradient(gradient, normal, rstd, along_one, along_normal * inverse_width_, total);
    } else {
      take(turn, 0, total);
    }
    if (row < end_ && inside()) finish_piece(row, total);
  }

  __device__ void finish(float* words) {
    wait_for_copies<0>();
    store(args_.sum_bias, args_.sums.bias, bias_sum_, words);
    store(args_.sum_gamma, args_.sums.gamma, gamma_sum_, words);
    store(args_.sum_beta, args_.sums.beta, beta_sum_, words);
  }

 private:
  __device__ bool inside() const { return first_ < args_.width; }
  __device__ void take(int turn, int which, float (&to)[N]) const {
    load_vector(reinterpret_cast<const T*>(&waiting_[turn][which][thread_]), to);
  }
  // d_total -> dresidual, dropout, bias and dx.
  __device__ void finish_piece(int64_t row, float (&total)[N]) {
    const int64_t at = row * args_.width + first_;
    if (args_.dresidual) put<true>(args_.dresidual + at, N, args_.add_dresidual, total);
    if (!args_.dx && !args_.sum_bias) return;
    if constexpr (kDropped) args_.mask.multiply(row, first_, total);
#pragma unroll
    for (int i = 0; i < N; ++i) bias_sum_[i] += total[i];
    if (args_.dx) put<true>(args_.dx + at, N, args_.add_dx, total);
  }
  // Adds the block's rows of threads, and writes the sums.
  __device__ void store(bool wanted, float* runs, float (&sum)[N], float* words) const {
    float* const run = run_of(wanted, runs, args_.width);
    if (!run) return;
    sum_over_rows(sum, words);
    if (threadIdx.y == 0) store_piece<true>(run + first_, args_.width - first_, sum);
  }

  const ResidualNormBackwardArgs<T>& args_;
  Waiting& waiting_;
  int64_t end_;
  int first_, thread_;
  uint4 gamma_ = {};  // unpacked, it would take twice as many registers
  float bias_sum_[N] = {}, gamma_sum_[N] = {}, beta_sum_[N] = {};
  float next_mean_ = 0, next_rstd_ = 0, inverse_width_;
};

template <class T, bool kDropped>
__global__ void __launch_bounds__(kNormBackwardThreads, 2) norm_backward_kept(const ResidualNormBackwardArgs<T> args) {
  __shared__ typename KeptRows<T, kDropped>::Waiting waiting;
  __shared__ float2 words[2][kNormBackwardThreads / kWarp];
  static_assert(sizeof waiting >= kNormBackwardThreads * kVector<T> * sizeof(float));
  const int64_t begin = blockIdx.x * args.run_rows, end = min(begin + args.run_rows, args.rows);
  KeptRows<T, kDropped> rows(args, waiting, end);
  rows.ask(begin + threadIdx.y, 0);
  int turn = 0;
  for (int64_t first = begin; first < end; first += blockDim.y, turn ^= 1) {
    const int64_t row = first + threadIdx.y;
    rows.work(row, row + blockDim.y, turn, words[turn]);
  }
  rows.finish(reinterpret_cast<float*>(waiting));
}

// Column sums of a run whose rows are too wide for registers: they stay in the run's row of `runs`, which one row of
// threads alone adds to.
template <bool kAligned, int N>
class WideSum {
 public:
  __device__ WideSum(float* run, int width) : run_(run), width_(width) {
    const float zero[N] = {};
    if (run_)
      for_pieces<false, N>(width_, [&](int first) { store_piece<kAligned>(run_ + first, width_ - first, zero); });
  }
  __device__ void add(int first, const float (&x)[N]) {
    if (!run_) return;
    float sum[N];
    load_piece<kAligned>(run_ + first, width_ - first, sum);
#pragma unroll
    for (int i = 0; i < N; ++i) sum[i] += x[i];
    store_piece<kAligned>(run_ + first, width_ - first, sum);
  }

 private:
  float* run_;
  int width_;
};

// Rows of any width and alignment. They are read a second time once their sums are known.
template <class T, bool kAligned>
class WideRows {
 public:
  static constexpr int N = kVector<T>;
  __device__ explicit WideRows(const ResidualNormBackwardArgs<T>& args)
      : args_(args),
        bias_(run_of(args.sum_bias, args.sums.bias, args.width), args.width),
        gamma_(run_of(args.sum_gamma, args.sums.gamma, args.width), args.width),
        beta_(run_of(args.sum_beta, args.sums.beta, args.width), args.width) {}

  // `words`: one pair for each warp.
  __device__ void work(int64_t row, float2* words) {
    const int64_t start = row * args_.width;
    float gradient[N], normal[N], along_one = 0, along_normal = 0;
    if (args_.dnormed) {
      for_pieces<false, N>(args_.width, [&](int first) {
        read(row, first, gradient, normal);
        sum_columns(first, gradient, normal);
        weigh(first, gradient);
#pragma unroll
        for (int i = 0; i < N; ++i) along_one += gradient[i], along_normal += gradient[i] * normal[i];
      });
      row_sums(along_one, along_normal, words);
      along_one = args_.mean ? along_one / static_cast<float>(args_.width) : 0.0f;
      along_normal /= static_cast<float>(args_.width);
    }
    for_pieces<false, N>(args_.width, [&](int first) {
      float total[N] = {};
      if (args_.dsum) load_piece<kAligned>(args_.dsum + start + first, args_.width - first, total);
      if (args_.dnormed) {
        read(row, first, gradient, normal);
        weigh(first, gradient);
        add_norm_gradient(gradient, normal, args_.rstd[row], along_one, along_normal, total);
      }
      finish_piece(row, first, total);
    });
  }

 private:
  // dnormed, and n = (sum - mean) rstd; both 0 beyond the columns.
  __device__ void read(int64_t row, int first, float (&dnormed)[N], float (&normal)[N]) const {
    const int64_t at = row * args_.width + first;
    load_piece<kAligned>(args_.dnormed + at, args_.width - first, dnormed);
    load_piece<kAligned>(args_.sum + at, args_.width - first, normal);
    const float mean = args_.mean ? args_.mean[row] : 0.0f, rstd = args_.rstd[row];
#pragma unroll
    for (int i = 0; i < N; ++i)
      normal[i] = first + i < args_.width ? formulas::normalised(normal[i], mean, rstd) : 0.0f;
  }
  __device__ void sum_columns(int first, const float (&dnormed)[N], const float (&normal)[N]) {
    float product[N];
#pragma unroll
    for (int i = 0; i < N; ++i) product[i] = dnormed[i] * normal[i];
    gamma_.add(first, product);
    beta_.add(first, dnormed);
  }
  // dnormed becomes g = dnormed gamma.
  __device__ void weigh(int first, float (&dnormed)[N]) const {
    float gamma[N];
    load_piece<kAligned>(args_.gamma + first, args_.width - first, gamma);
#pragma unroll
    for (int i = 0; i < N; ++i) dnormed[i] *= gamma[i];
  }
  __device__ void finish_piece(int64_t row, int first, float (&total)[N]) {
    const int64_t at = row * args_.width + first, left = args_.width - first;
    if (args_.dresidual) put<kAligned>(args_.dresidual + at, left, args_.add_dresidual, total);
    if (!args_.dx && !args_.sum_bias) return;
    if (args_.mask.active() && left > 0) args_.mask.multiply(row, first, total);
    bias_.add(first, total);
    if (args_.dx) put<kAligned>(args_.dx + at, left, args_.add_dx, total);
  }

  const ResidualNormBackwardArgs<T>& args_;
  WideSum<kAligned, N> bias_, gamma_, beta_;
};

template <class T, bool kAligned>
__global__ void __launch_bounds__(kRowThreads, 2) norm_backward_wide(const ResidualNormBackwardArgs<T> args) {
  __shared__ float2 words[2][kRowWarps];
  const int64_t begin = blockIdx.x * args.run_rows, end = min(begin + args.run_rows, args.rows);
  WideRows<T, kAligned> rows(args);
  int turn = 0;
  for (int64_t row = begin; row < end; ++row, turn ^= 1) rows.work(row, words[turn]);
}

template <class T>
void launch_backward(const Stream& stream, const ResidualNormBackward& args, const RunSums& sums) {
  const ResidualNormBackwardArgs<T> backward(args, sums);
  RowBlock rows = row_block(backward.width, kVector<T>, kNormBackwardThreads);
  const auto start = [&](auto* kernel) {
    launch(stream, kernel, static_cast<unsigned>(runs_of(backward.rows)), rows.block, 0, backward);
  };
  const bool aligned = backward.aligned();
  if (aligned && rows.once) {
    return backward.mask.active() ? start(norm_backward_kept<T, true>) : start(norm_backward_kept<T, false>);
  }
  rows.block.y = 1;
  aligned ? start(norm_backward_wide<T, true>) : start(norm_backward_wide<T, false>);
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
