// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "kernels/formulas/host_device.h"
#include "kernels/ops/optimizer.h"

// One element's update by the rules of kernels/ops/optimizer.h. T: the type of the flat buffers. Values that depend on
// the step or on an element's span are computed in f64 and rounded once: take() rounds the values of the step, on the
// host or, for a step that is replayed, on the device; factors() those of a span.
namespace weft::formulas {

template <class T>
struct AdamRule {
  static constexpr int kMoments = 2;
  T clip, beta1, beta2, rest1, rest2, root2, epsilon;
  double learning_rate, bias_correction1;
  bool coupled;

  explicit AdamRule(const AdamUpdate& args)
      : beta1(static_cast<T>(args.beta1)),
        beta2(static_cast<T>(args.beta2)),
        rest1(static_cast<T>(1 - args.beta1)),
        rest2(static_cast<T>(1 - args.beta2)),
        epsilon(static_cast<T>(args.epsilon)),
        coupled(args.coupled) {
    take(args.step);
  }
  WEFT_HOST_DEVICE void take(const StepState& step) {
    clip = static_cast<T>(step.clip);
    root2 = static_cast<T>(1 / std::sqrt(step.bias_correction2));
    learning_rate = step.learning_rate;
    bias_correction1 = step.bias_correction1;
  }

  // One of the two decays is zero: weight decay either adds to the gradient or shrinks the parameter directly.
  struct Factors {
    T rate, into_gradient, decay;
  };
  WEFT_HOST_DEVICE Factors factors(double weight_decay, double rate_factor) const {
    const double span_rate = rate_factor * learning_rate;
    return {static_cast<T>(span_rate / bias_correction1), static_cast<T>(coupled ? weight_decay : 0),
            static_cast<T>(coupled ? 0 : span_rate * weight_decay)};
  }
  WEFT_HOST_DEVICE void update(const Factors& f, T gradient, T& p, T& m, T& v) const {
    const T g = gradient * clip + f.into_gradient * p;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * (g * g);
    p -= f.rate * (m / (std::sqrt(v) * root2 + epsilon)) + f.decay * p;
  }
};

template <class T>
struct SgdRule {
  static constexpr int kMoments = 1;
  T clip, momentum;
  double learning_rate;

  explicit SgdRule(const SgdUpdate& args) : momentum(static_cast<T>(args.momentum)) { take(args.step); }
  WEFT_HOST_DEVICE void take(const StepState& step) {
    clip = static_cast<T>(step.clip);
    learning_rate = step.learning_rate;
  }

  struct Factors {
    T rate, decay;
  };
  WEFT_HOST_DEVICE Factors factors(double weight_decay, double rate_factor) const {
    return {static_cast<T>(rate_factor * learning_rate), static_cast<T>(weight_decay)};
  }
  WEFT_HOST_DEVICE void update(const Factors& f, T gradient, T& p, T& buffer) const {
    buffer = momentum * buffer + gradient * clip + f.decay * p;
    p -= f.rate * buffer;
  }
};

}  // namespace weft::formulas
