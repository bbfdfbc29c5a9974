// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/formulas/host_device.h"

// One row of the cross-entropy that kernels/ops/cross_entropy.h defines. A: the accumulator type.
namespace weft::formulas {

// A row's loss follows from these: its largest logit, the sum of exp(logit - most), the target's logit, and the sum of
// the logits, which label smoothing alone reads.
template <class A>
struct RowStats {
  A most, sum, target, total;
};

// -log p(target), or with smoothing its mean with -log p of the other words, and the z-loss. Computed in f64, since
// log Z and the target's logit may be large and near each other. log_sum: log(s.sum).
template <class A>
WEFT_HOST_DEVICE inline A row_loss(const RowStats<A>& s, double log_sum, double smoothing, double z_loss,
                                   int64_t vocabulary) {
  const double log_z = log_sum + static_cast<double>(s.most);
  double value = log_z - (1 - smoothing) * static_cast<double>(s.target);
  if (z_loss != 0) value += z_loss * log_z * log_z;
  if (smoothing == 0) return static_cast<A>(value);
  return static_cast<A>(value - smoothing / static_cast<double>(vocabulary) * static_cast<double>(s.total));
}

// The derivative of a row's loss by log Z, which multiplies softmax in the gradient: 1, and 2 z log Z of the z-loss.
template <class A>
WEFT_HOST_DEVICE inline A slope_of_log_z(A log_z, double z_loss) {
  return 1 + 2 * static_cast<A>(z_loss) * log_z;
}

// inverse_divisor (slope softmax - (1 - e) onehot(target) - e / V), from exponentials exp(logit - most).
// factor: inverse_divisor and slope over the sum of the row's exponentials.
template <class A>
struct RowGradient {
  A factor, uniform, one_hot;

  WEFT_HOST_DEVICE RowGradient(A factor, double inverse_divisor, double smoothing, int64_t vocabulary)
      : factor(factor),
        uniform(static_cast<A>(inverse_divisor * smoothing / static_cast<double>(vocabulary))),
        one_hot(static_cast<A>(inverse_divisor * (1 - smoothing))) {}

  WEFT_HOST_DEVICE A at(A exponential) const { return exponential * factor - uniform; }
  WEFT_HOST_DEVICE A at_target(A exponential) const { return at(exponential) - one_hot; }
};

// The target's logit in a row of a whole vocabulary. A target beyond the vocabulary must not reach another row's
// memory: its logit, and so the loss, is NaN.
template <class A>
WEFT_HOST_DEVICE inline A target_logit(const A* row, int32_t target, int64_t vocabulary) {
  return target < vocabulary ? row[target] : std::numeric_limits<A>::quiet_NaN();
}

// The target's logit in a chunk of `valid` columns from `first` on, or 0 in any other chunk, so that chunks add up.
template <class A>
WEFT_HOST_DEVICE inline A target_logit_of_chunk(const A* row, int32_t target, int64_t first, int64_t valid) {
  const int64_t column = target - first;
  return target >= 0 && column >= 0 && column < valid ? row[column] : A{0};
}

// Scales a chunk's sum of exponentials to the maximum of the whole row; a row whose maximum lies in the chunk is not
// written. A chunk without columns has the maximum -inf and the sum 0, and the whole row may have the same.
template <class A>
WEFT_HOST_DEVICE inline void rebase_sum(A& sum, A most, A whole_most) {
  if (most != whole_most) sum *= std::exp(most - whole_most);
}

}  // namespace weft::formulas
