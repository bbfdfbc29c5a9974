// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/cuda/rows.cuh"
#include "kernels/ops/cross_entropy.h"

// What the kernels of cross-entropy share, and others that read rows of logits.
namespace weft::cuda {

constexpr float kMinusInfinity = -INFINITY;

// What a row's loss is made of.
struct RowStats {
  float most, sum, target, total;
};

// -log p(target), or with smoothing its mean with the other words'. In f64, since log Z and the target's logit may be
// large and near each other.
__device__ inline float row_loss(const RowStats& s, double smoothing, int64_t vocabulary) {
  const double log_z = static_cast<double>(logf(s.sum)) + static_cast<double>(s.most);
  const double value = log_z - (1 - smoothing) * static_cast<double>(s.target);
  if (smoothing == 0) return static_cast<float>(value);
  return static_cast<float>(value - smoothing / static_cast<double>(vocabulary) * static_cast<double>(s.total));
}

// A step's inverse_divisor as kernels take it.
struct InverseDivisor {
  double value;
  const StepState* step;  // null: `value` it is

  explicit InverseDivisor(const StepState& s) : value(s.inverse_divisor), step(s.on_device) {}
  __device__ double get() const { return step ? step->inverse_divisor : value; }
};

// inverse_divisor (softmax - (1 - e) onehot(target) - e / V) of a row, from exp(logit - maximum).
struct RowGradient {
  float factor, uniform, one_hot;

  __device__ RowGradient(double inverse_divisor, double smoothing, int64_t vocabulary, float sum)
      : factor(static_cast<float>(inverse_divisor) / sum),
        uniform(static_cast<float>(inverse_divisor * smoothing / static_cast<double>(vocabulary))),
        one_hot(static_cast<float>(inverse_divisor * (1 - smoothing))) {}

  // x: exponentials of the columns from `first` on; becomes their gradient, 0 from `valid` on. The target may lie in no
  // column here.
  template <int N>
  __device__ void apply(int first, int valid, int64_t target, float (&x)[N]) const {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      x[i] = x[i] * factor - uniform;
      if (first + i == target) x[i] -= one_hot;
      if (first + i >= valid) x[i] = 0;
    }
  }
};

// Logits from `first` on; those at or beyond `valid` are padding, -inf.
template <bool kAligned, int N>
__device__ inline void load_logits(const float* row, int first, int valid, float (&x)[N]) {
  load_piece<kAligned>(row + first, valid - first, x);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = first + i < valid ? x[i] : kMinusInfinity;
}

// Maximum, sum of exp(logit - maximum) and sum of a row's first `valid` logits, in one pass: sums that were begun below
// a larger maximum are scaled down. The target is the caller's. The threads of a row together, all of the block's;
// `words`: three times one for each warp.
template <bool kAligned>
__device__ inline RowStats row_stats(const float* row, int valid, int columns, float (&words)[3][kRowWarps]) {
  constexpr int N = kVector<float>;
  // exp(-inf - 0) is 0: what has no maximum yet has a sum of 0 (or of NaN).
  const auto finite = [](float most) { return most == kMinusInfinity ? 0.0f : most; };
  float most = kMinusInfinity, sum = 0, total = 0;
  for_pieces<false, N>(columns, [&](int first) {
    float x[N];
    load_logits<kAligned>(row, first, valid, x);
    const float before = most;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      most = fmaxf(most, x[i]);  // passes over a NaN, which the sum meets
      total += first + i < valid ? x[i] : 0.0f;
    }
    const float base = finite(most);
    if (most > before) sum *= expf(before - base);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += expf(x[i] - base);
  });
  RowStats s{};
  s.most = row_reduce(most, kMinusInfinity, words[0], [](float a, float b) { return fmaxf(a, b); });
  s.sum = row_sum(sum * expf(most - finite(s.most)), words[1]);
  s.total = row_sum(total, words[2]);
  return s;
}

}  // namespace weft::cuda
