// SPDX-License-Identifier: Apache-2.0
#include "kernels/formulas/cross_entropy.h"

#include <limits>

#include "base/parallel_for.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/math.h"

namespace weft::cpu {
namespace {

using formulas::RowStats;

template <class A>
constexpr A kMinusInfinity = -std::numeric_limits<A>::infinity();

// The maximum ignores NaN, which the sum then shows: exp(NaN - max) is NaN.
template <class A>
A maximum(const A* x, int64_t n) {
  A most = kMinusInfinity<A>;
#pragma omp simd reduction(max : most)
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <class A>
A sum_of_exponentials(const A* x, int64_t n, A most) {
  if (most == kMinusInfinity<A>) {
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] != x[i]) return x[i];
    }
    return A{0};  // an empty or fully masked chunk adds nothing to the whole row's sum
  }
  A sum{0};
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += exp(x[i] - most);
  return sum;
}

template <class A>
A sum_of(const A* x, int64_t n) {
  A sum{0};
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

template <class A>
A row_loss(const RowStats<A>& s, double smoothing, double z_loss, int64_t vocabulary) {
  return formulas::row_loss(s, std::log(static_cast<double>(s.sum)), smoothing, z_loss, vocabulary);
}

// Overwrites x with exp(x - most), and returns their sum.
template <class A>
A exponentials(A* x, int64_t n, A most) {
  A sum{0};
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const A e = exp(x[i] - most);
    x[i] = e;
    sum += e;
  }
  return sum;
}

// What a row's gradient follows from besides its exponentials, by their maximum and sum over the whole vocabulary.
template <class A, class Args>
formulas::RowGradient<A> row_gradient(const Args& args, int64_t vocabulary, A most, A sum) {
  const double scale = args.step.inverse_divisor, whole = static_cast<double>(sum);
  double slope = 1;
  if (args.z_loss != 0) slope = formulas::slope_of_log_z(std::log(whole) + static_cast<double>(most), args.z_loss);
  return {static_cast<A>(scale * slope / whole), scale, args.smoothing, vocabulary};
}

// The gradient of a row from exponential(c), which gives exp(logit - maximum) of column c; 0 in the padding. `out` may
// be the memory that exponential() reads. The target may lie in no column of this chunk. `gradient` is a copy, which no
// store to `out` can change.
template <class A, class Args, class T, class Exponential>
void gradient_row(const Args& args, formulas::RowGradient<A> gradient, int64_t target, Exponential&& exponential,
                  T* out) {
  const int64_t columns = args.logits.columns(), valid = args.valid_columns;
  const bool here = target >= 0 && target < valid;
  const A at_target = here ? gradient.at_target(exponential(target)) : A{0};
#pragma omp simd
  for (int64_t c = 0; c < valid; ++c) out[c] = element_cast<T>(gradient.at(exponential(c)));
  std::fill(out + valid, out + columns, T{});
  if (here) out[target] = element_cast<T>(at_target);
}

// T: the type of dlogits, or A without gradients.
template <class A, class T>
void cross_entropy_row(const CrossEntropy& args, int64_t r) {
  const int64_t columns = args.logits.columns(), valid = args.valid_columns;
  const int32_t target = args.targets.device_data<int32_t>()[r];
  A* const row = args.logits.device_data<A>() + r * columns;
  T* const out = args.dlogits ? args.dlogits.device_data<T>() + r * columns : nullptr;
  RowStats<A> s{};
  if (target >= 0) {
    s.most = maximum(row, valid);
    s.target = formulas::target_logit(row, target, valid);
    if (args.smoothing > 0) s.total = sum_of(row, valid);
    s.sum = out ? exponentials(row, valid, s.most) : sum_of_exponentials(row, valid, s.most);
  }
  args.loss.device_data<A>()[r] = target < 0 ? A{0} : row_loss(s, args.smoothing, args.z_loss, valid);
  if (args.nll) args.nll.device_data<A>()[r] = target < 0 ? A{0} : row_loss(s, 0, 0, valid);
  if (!out) return;
  if (target < 0) {
    std::fill_n(out, columns, T{});
  } else {
    gradient_row(
        args, row_gradient(args, valid, s.most, s.sum), target, [row](int64_t c) { return row[c]; }, out);
  }
}

template <class A>
void cross_entropy_stats(const CrossEntropyStats& args, int threads) {
  const int64_t columns = args.logits.columns(), valid = args.valid_columns;
  const A* logits = args.logits.device_data<A>();
  const int32_t* targets = args.targets.device_data<int32_t>();
  A *most = args.row_max.device_data<A>(), *sum = args.row_sum.device_data<A>(),
    *target = args.row_target.device_data<A>();
  A* total = args.row_total ? args.row_total.device_data<A>() : nullptr;
  parallel_for(threads, args.logits.rows(), 1, [=, first = args.first_column](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const A* row = logits + r * columns;
      most[r] = maximum(row, valid);
      sum[r] = sum_of_exponentials(row, valid, most[r]);
      target[r] = formulas::target_logit_of_chunk(row, targets[r], first, valid);
      if (total) total[r] = sum_of(row, valid);
    }
  });
}

template <class A>
void cross_entropy_loss(const CrossEntropyLoss& args) {
  const int32_t* targets = args.targets.device_data<int32_t>();
  const A *most = args.row_max.device_data<A>(), *sum = args.row_sum.device_data<A>(),
          *target = args.row_target.device_data<A>();
  const A* total = args.row_total ? args.row_total.device_data<A>() : nullptr;
  A* loss = args.loss.device_data<A>();
  for (int64_t r = 0; r < args.loss.elements(); ++r) {
    const RowStats<A> s{most[r], sum[r], target[r], total ? total[r] : A{0}};
    loss[r] = targets[r] < 0 ? A{0} : row_loss(s, args.smoothing, args.z_loss, args.vocabulary);
  }
}

template <class A, class T>
void cross_entropy_chunk_gradient_row(const CrossEntropyGradient& args, int64_t r, const A* row, T* out) {
  const int32_t target = args.targets.device_data<int32_t>()[r];
  if (target < 0) {
    std::fill_n(out, args.logits.columns(), T{});
    return;
  }
  const A most = args.row_max.device_data<A>()[r], sum = args.row_sum.device_data<A>()[r];
  const auto exponential = [=](int64_t c) { return exp(row[c] - most); };
  gradient_row(args, row_gradient(args, args.vocabulary, most, sum), target - args.first_column, exponential, out);
}

template <class A>
void cross_entropy_rebase(const CrossEntropyRebase& args) {
  const A *most = args.row_max.device_data<A>(), *whole = args.whole_max.device_data<A>();
  A* sum = args.row_sum.device_data<A>();
  for (int64_t r = 0; r < args.row_sum.elements(); ++r) {
    formulas::rebase_sum(sum[r], most[r], whole[r]);
  }
}

}  // namespace

template <>
void CpuBackend::run(const CrossEntropy& args) {
  with_float_type(args.dlogits ? args.dlogits.dtype() : args.logits.dtype(), [&]<class T>() {
    parallel_for(threads_, args.logits.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) cross_entropy_row<Accumulator<T>, T>(args, r);
    });
  });
}

template <>
void CpuBackend::run(const CrossEntropyStats& args) {
  args.logits.dtype() == DType::F64 ? cross_entropy_stats<double>(args, threads_)
                                    : cross_entropy_stats<float>(args, threads_);
}

template <>
void CpuBackend::run(const CrossEntropyRebase& args) {
  args.row_sum.dtype() == DType::F64 ? cross_entropy_rebase<double>(args) : cross_entropy_rebase<float>(args);
}

template <>
void CpuBackend::run(const CrossEntropyLoss& args) {
  args.loss.dtype() == DType::F64 ? cross_entropy_loss<double>(args) : cross_entropy_loss<float>(args);
}

template <>
void CpuBackend::run(const CrossEntropyGradient& args) {
  with_float_type(args.dlogits.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const int64_t columns = args.logits.columns();
    const A* logits = args.logits.device_data<A>();
    T* out = args.dlogits.device_data<T>();
    parallel_for(threads_, args.logits.rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        cross_entropy_chunk_gradient_row(args, r, logits + r * columns, out + r * columns);
    });
  });
}

}  // namespace weft::cpu
