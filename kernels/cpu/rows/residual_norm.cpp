// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/rows/row_sum.h"
#include "kernels/cpu/rows/run_sums.h"
#include "kernels/formulas/norm.h"

namespace weft::cpu {
namespace {

template <class T>
const T* data_or_null(const Tensor& t) {
  return t ? t.device_data<T>() : nullptr;
}
template <class T>
T* row_or_null(const Tensor& t, int64_t row, int64_t width) {
  return t ? t.device_data<T>() + row * width : nullptr;
}

// total = x + bias
template <class X, class T, class A>
void add_bias(const X* x, const T* bias, int64_t width, A* total) {
  if (bias) {
    for (int64_t c = 0; c < width; ++c) total[c] = element_cast<A>(x[c]) + element_cast<A>(bias[c]);
  } else {
    for (int64_t c = 0; c < width; ++c) total[c] = element_cast<A>(x[c]);
  }
}

// total = residual + dropout(x + bias), rounded to T as `sum` is, since backward computes with the rounded sum.
template <class T, class A>
void residual_sum_row(const ResidualNormForward& args, const DropoutMask& mask, int64_t row, int64_t width, A* total,
                      A* dropout_scale) {
  const T* bias = data_or_null<T>(args.bias);
  const T* residual = row_or_null<T>(args.residual, row, width);
  T* sum = row_or_null<T>(args.sum, row, width);
  if (args.x.dtype() == DTypeOf<T>::value) {
    add_bias(args.x.device_data<T>() + row * width, bias, width, total);
  } else {
    add_bias(args.x.device_data<A>() + row * width, bias, width, total);
  }
  if (mask.active()) {
    mask.multipliers(row, 0, width, dropout_scale);
    for (int64_t c = 0; c < width; ++c) total[c] *= dropout_scale[c];
  }
  if (residual) {
    for (int64_t c = 0; c < width; ++c) total[c] += element_cast<A>(residual[c]);
  }
  if (!sum) return;
  for (int64_t c = 0; c < width; ++c) sum[c] = element_cast<T>(total[c]);
  if constexpr (!std::is_same_v<A, T>) {
    for (int64_t c = 0; c < width; ++c) total[c] = element_cast<A>(sum[c]);
  }
}

template <class T, class A>
void norm_row(const ResidualNormForward& args, int64_t row, int64_t width, const A* total) {
  const bool centred = args.kind == NormKind::Layer;
  const A mean = centred ? row_sum(total, width, [](auto v) { return v; }) / static_cast<A>(width) : A{0};
  const A variance = row_sum(total, width, [mean](auto v) { return (v - mean) * (v - mean); }) / static_cast<A>(width);
  const A rstd = formulas::inverse_deviation(variance, static_cast<A>(args.epsilon));
  if (centred) args.mean.device_data<A>()[row] = mean;
  args.rstd.device_data<A>()[row] = rstd;
  const T* gamma = args.gamma.device_data<T>();
  const T* beta = data_or_null<T>(args.beta);
  T* normed = args.normed.device_data<T>() + row * width;
  if (beta) {
    for (int64_t c = 0; c < width; ++c) {
      normed[c] = element_cast<T>(formulas::normalised(total[c], mean, rstd) * element_cast<A>(gamma[c]) +
                                  element_cast<A>(beta[c]));
    }
  } else {
    for (int64_t c = 0; c < width; ++c) {
      normed[c] = element_cast<T>(formulas::normalised(total[c], mean, rstd) * element_cast<A>(gamma[c]));
    }
  }
}

// Partial column sums of one run of rows; sums that are not needed are null.
template <class A>
struct ColumnSums {
  A *bias, *gamma, *beta;
};

template <class T>
class ResidualNormBackwardRows {
 public:
  using A = Accumulator<T>;
  ResidualNormBackwardRows(const ResidualNormBackward& args, const DropoutMask& mask, int64_t width, A* scratch)
      : args_(args),
        mask_(mask),
        width_(width),
        total_(scratch),
        gradient_(scratch + width),
        normal_(scratch + 2 * width),
        dropout_scale_(scratch + 3 * width) {}

  void row(int64_t r, const ColumnSums<A>& sums) const {
    if (args_.dnormed) {
      norm_backward(r, sums);
    } else {
      const T* dsum = args_.dsum.device_data<T>() + r * width_;
      for (int64_t c = 0; c < width_; ++c) total_[c] = element_cast<A>(dsum[c]);
    }
    put(args_.dresidual, r);
    if (!args_.dx && !sums.bias) return;
    if (mask_.active()) {
      mask_.multipliers(r, 0, width_, dropout_scale_);
      for (int64_t c = 0; c < width_; ++c) total_[c] *= dropout_scale_[c];
    }
    if (sums.bias) {
      for (int64_t c = 0; c < width_; ++c) sums.bias[c] += total_[c];
    }
    put(args_.dx, r);
  }

 private:
  // total = dsum + rstd (g - mean(g) - n mean(g n)), with g = dnormed gamma and n = (sum - mean) rstd. Where no mean
  // was subtracted, mean(g) is left out too.
  void norm_backward(int64_t r, const ColumnSums<A>& sums) const {
    const T* dnormed = args_.dnormed.device_data<T>() + r * width_;
    const T* sum = args_.sum.device_data<T>() + r * width_;
    const T* gamma = args_.gamma.device_data<T>();
    const T* dsum = row_or_null<T>(args_.dsum, r, width_);
    const bool centred = args_.kind == NormKind::Layer;
    const A mean = centred ? args_.mean.device_data<A>()[r] : A{0}, rstd = args_.rstd.device_data<A>()[r];
    for (int64_t c = 0; c < width_; ++c) {
      normal_[c] = formulas::normalised(element_cast<A>(sum[c]), mean, rstd);
      gradient_[c] = element_cast<A>(dnormed[c]) * element_cast<A>(gamma[c]);
    }
    if (sums.gamma) {
      for (int64_t c = 0; c < width_; ++c) sums.gamma[c] += element_cast<A>(dnormed[c]) * normal_[c];
    }
    if (sums.beta) {
      for (int64_t c = 0; c < width_; ++c) sums.beta[c] += element_cast<A>(dnormed[c]);
    }
    const A count = static_cast<A>(width_);
    const A along_one = centred ? row_sum(gradient_, width_, [](auto g) { return g; }) / count : A{0};
    const A along_normal = row_sum(gradient_, normal_, width_, [](auto g, auto n) { return g * n; }) / count;
    for (int64_t c = 0; c < width_; ++c) {
      total_[c] = formulas::norm_gradient(gradient_[c], normal_[c], rstd, along_one, along_normal);
    }
    if (dsum) {
      for (int64_t c = 0; c < width_; ++c) total_[c] += element_cast<A>(dsum[c]);
    }
  }

  void put(const Gradient& to, int64_t r) const {
    if (!to) return;
    T* out = to.tensor.device_data<T>() + r * width_;
    if (to.mode == Accumulate::Overwrite) {
      for (int64_t c = 0; c < width_; ++c) out[c] = element_cast<T>(total_[c]);
    } else {
      for (int64_t c = 0; c < width_; ++c) out[c] = element_cast<T>(element_cast<A>(out[c]) + total_[c]);
    }
  }

  const ResidualNormBackward& args_;
  const DropoutMask& mask_;
  int64_t width_;
  A *total_, *gradient_, *normal_, *dropout_scale_;
};

// Returns dnormed or dsum, either of which has the shape of the rows.
const Tensor& any_of(const ResidualNormBackward& args) { return args.dnormed ? args.dnormed : args.dsum; }

// Rows of scratch for each thread.
constexpr int64_t kForwardRows = 2;
constexpr int64_t kBackwardRows = 4;

// The workspace of backward: rows for each thread, and column sums of each run, three side by side.
template <class A>
struct ResidualNormBackwardScratch {
  A *rows, *partial;
  ResidualNormBackwardScratch(const ResidualNormBackward& args, int threads, Scratch& scratch) {
    const int64_t width = any_of(args).columns();
    rows = scratch.take<A>(threads * kBackwardRows * width);
    partial = scratch.take<A>(runs_of(any_of(args).rows()) * 3 * width);
  }
};

template <class T>
void residual_norm_forward(const ResidualNormForward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t rows = args.x.rows(), width = args.x.columns();
  for_runs(threads, rows, [&](int64_t, int worker, int64_t begin, int64_t end) {
    A* total = scratch + worker * kForwardRows * width;
    for (int64_t row = begin; row < end; ++row) {
      residual_sum_row<T>(args, mask, row, width, total, total + width);
      if (args.normed) norm_row<T>(args, row, width, total);
    }
  });
}

// Column sums are taken over fixed runs of rows, then over the runs in order, so they do not depend on the number of
// threads.
template <class T>
void residual_norm_backward(const ResidualNormBackward& args, const ResidualNormBackwardScratch<Accumulator<T>>& pieces,
                            int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t rows = any_of(args).rows(), width = any_of(args).columns(), runs = runs_of(rows);
  A* const partial = pieces.partial;
  for_runs(threads, rows, [&](int64_t run, int worker, int64_t begin, int64_t end) {
    A* const mine = partial + run * 3 * width;
    std::fill_n(mine, 3 * width, A{0});
    const ColumnSums<A> sums{.bias = args.dbias ? mine : nullptr,
                             .gamma = args.dgamma ? mine + width : nullptr,
                             .beta = args.dbeta ? mine + 2 * width : nullptr};
    const ResidualNormBackwardRows<T> backward(args, mask, width, pieces.rows + worker * kBackwardRows * width);
    for (int64_t row = begin; row < end; ++row) backward.row(row, sums);
  });
  if (args.dbias) add_runs(partial, runs, 3 * width, args.dbias);
  if (args.dgamma) add_runs(partial + width, runs, 3 * width, args.dgamma);
  if (args.dbeta) add_runs(partial + 2 * width, runs, 3 * width, args.dbeta);
}

}  // namespace

template <>
size_t CpuBackend::workspace(const ResidualNormForward& args) const {
  return static_cast<size_t>(threads_ * kForwardRows * args.x.columns()) * size_of(accumulator_of(args.x.dtype()));
}

template <>
void CpuBackend::run(const ResidualNormForward& args, Scratch scratch) {
  with_float_type(args.sum ? args.sum.dtype() : args.x.dtype(), [&]<class T>() {
    residual_norm_forward<T>(args, scratch.take<Accumulator<T>>(threads_ * kForwardRows * args.x.columns()), threads_);
  });
}

template <>
size_t CpuBackend::workspace(const ResidualNormBackward& args) const {
  return with_float_type(any_of(args).dtype(), [&]<class T>() {
    return scratch_bytes([&](Scratch& s) { ResidualNormBackwardScratch<Accumulator<T>>(args, threads_, s); });
  });
}

template <>
void CpuBackend::run(const ResidualNormBackward& args, Scratch scratch) {
  with_float_type(any_of(args).dtype(), [&]<class T>() {
    residual_norm_backward<T>(args, ResidualNormBackwardScratch<Accumulator<T>>(args, threads_, scratch), threads_);
  });
}

}  // namespace weft::cpu
