// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/cuda/exponential.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/formulas/cross_entropy.h"
#include "kernels/ops/cross_entropy.h"

// Functions that the kernels of cross-entropy share with others that read rows of logits.
namespace weft::cuda {

constexpr float kMinusInfinity = -INFINITY;

using RowStats = formulas::RowStats<float>;

// log(sum) in f32: the sum is f32 itself, and f64 logarithms take many registers.
__device__ inline float row_loss(const RowStats& s, double smoothing, double z_loss, int64_t vocabulary) {
  return formulas::row_loss(s, static_cast<double>(logf(s.sum)), smoothing, z_loss, vocabulary);
}

// A step's inverse_divisor as kernels take it; for a step that is replayed, the value in the device's memory.
struct InverseDivisor {
  double value;
  const StepState* step;  // null: not replayed

  explicit InverseDivisor(const StepState& s) : value(s.inverse_divisor), step(s.on_device) {}
  __device__ double get() const { return step ? step->inverse_divisor : value; }
};

// What a row's gradient follows from besides its exponentials, by their maximum and sum over the whole vocabulary.
// z_loss: that of the arguments, or 0 in a kernel without z-loss. Divides in f32: each thread of a row divides, and
// devices without many f64 units would wait for them.
template <class Args>
__device__ inline formulas::RowGradient<float> row_gradient(const Args& args, double z_loss, int64_t vocabulary,
                                                            float most, float sum) {
  const double inverse_divisor = args.inverse_divisor.get();
  float scale = static_cast<float>(inverse_divisor);
  if (z_loss != 0) scale *= formulas::slope_of_log_z(logf(sum) + most, z_loss);
  return {scale / sum, inverse_divisor, args.smoothing, vocabulary};
}

// x: exponentials of the columns from `first` on; becomes their gradient, 0 from `valid` on. The target may lie in no
// column of this chunk.
template <int N>
__device__ inline void apply_gradient(const formulas::RowGradient<float>& gradient, int first, int valid,
                                      int64_t target, float (&x)[N]) {
  if (first + N <= valid && (target < first || target >= first + N)) {  // most pieces: one instruction for each x
#pragma unroll
    for (float& each : x) each = gradient.at(each);
    return;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    x[i] = first + i == target ? gradient.at_target(x[i]) : gradient.at(x[i]);
    if (first + i >= valid) x[i] = 0;
  }
}

// x: logits from `first` on; those at or beyond `valid` are padding and become -inf.
template <int N>
__device__ inline void pad_logits(int first, int valid, float (&x)[N]) {
  if (first + N <= valid) return;
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = first + i < valid ? x[i] : kMinusInfinity;
}

// Loads logits from `first` on, with padding at and beyond `valid`.
template <bool kAligned, int N>
__device__ inline void load_logits(const float* row, int first, int valid, float (&x)[N]) {
  load_piece<kAligned>(row + first, valid - first, x);
  pad_logits(first, valid, x);
}

// The maximum and the sum of exp(logit - maximum) in one pass: a sum that was begun with a smaller maximum is scaled
// down.
struct RunningSum {
  float most = kMinusInfinity, sum = 0;

  // exp(-inf - 0) is 0: where there is no maximum yet the sum is 0 (or NaN).
  __device__ static float finite(float most) { return most == kMinusInfinity ? 0.0f : most; }

  template <int N>
  __device__ void add(const float (&x)[N]) {
    const float before = most;
#pragma unroll
    for (int i = 0; i < N; ++i) most = fmaxf(most, x[i]);  // skips a NaN, which the sum then shows
    const float base = finite(most);
    if (most > before) sum *= natural_exponential(before - base);
#pragma unroll
    for (int i = 0; i < N; ++i) sum += natural_exponential(x[i] - base);
  }

  // Becomes that of the whole row. All threads of the block call it; `words`: two for each warp.
  __device__ void join(float* words_of_most, float* words_of_sum) {
    const float all = row_reduce(most, words_of_most, [](float a, float b) { return fmaxf(a, b); });
    sum = row_sum(sum * natural_exponential(most - finite(all)), words_of_sum);
    most = all;
  }
};

// Maximum, sum of exp(logit - maximum) and sum of a row's first `valid` logits, in one pass. The caller sets the
// target's logit. All threads of the block call it, those of a row together; `words`: three for each warp.
template <bool kAligned>
__device__ inline RowStats row_stats(const float* row, int valid, int columns, float (&words)[3][kRowWarps]) {
  constexpr int N = kVector<float>;
  RunningSum running;
  float total = 0;
  for_pieces<false, N>(columns, [&](int first) {
    float x[N];
    load_logits<kAligned>(row, first, valid, x);
    running.add(x);
#pragma unroll
    for (int i = 0; i < N; ++i) total += first + i < valid ? x[i] : 0.0f;
  });
  running.join(words[0], words[1]);
  RowStats s{};
  s.most = running.most, s.sum = running.sum;
  s.total = row_sum(total, words[2]);
  return s;
}

}  // namespace weft::cuda
