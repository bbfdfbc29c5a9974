// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Consecutive spans of a flat buffer, each with one weight decay and one factor of the learning rate. Made once.
struct UpdateSpans {
  std::vector<int64_t> begins;  // ascending from 0; a span ends at the next begin, the last one at the buffer's end
  std::vector<double> decays;
  std::vector<double> rates;                          // factors of step.learning_rate
  Tensor device_begins, device_decays, device_rates;  // copies on the device: i64, f64, f64
};
using SharedUpdateSpans = std::shared_ptr<const UpdateSpans>;
SharedUpdateSpans share_update_spans(Context& context, std::vector<int64_t> begins, std::vector<double> decays,
                                     std::vector<double> rates);

// Optimizer updates of ranges of the flat buffers (all f32, or all f64 in tests): one call for all parameters of a
// range. Gradients are multiplied by step.clip first. Nothing changes if step.skip is set. `compute`, if present,
// receives the new parameters in the same pass, rounded to its dtype, for products to read.

// AdamW (Loshchilov & Hutter 2019): m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// p -= lr (m / c1 / (sqrt(v / c2) + eps) + weight_decay p), with the bias corrections c1, c2 and the span's lr.
// `coupled` adds weight_decay p to g instead (Adam with L2, Kingma & Ba 2015).
struct AdamUpdate {
  Tensor parameter, gradient, moment1, moment2;
  Tensor compute;  // may be absent
  SharedUpdateSpans spans;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  bool coupled = false;
  StepState step;
};
void adam_update(Context& context, const AdamUpdate& args);

// SGD with momentum (PyTorch's form): buffer = momentum buffer + g + weight_decay p; p -= lr buffer.
struct SgdUpdate {
  Tensor parameter, gradient, buffer;
  Tensor compute;  // may be absent
  SharedUpdateSpans spans;
  double momentum = 0;
  StepState step;
};
void sgd_update(Context& context, const SgdUpdate& args);

// out[0] (f64) = the sum of squares over all parts (+ out[0] if Add), in an order that depends on the lengths only.
// Non-finite input gives a non-finite sum.
struct SquareSum {
  std::span<const Tensor> parts;
  Tensor out;  // f64[1]
  Accumulate mode = Accumulate::Overwrite;
};
void square_sum(Context& context, const SquareSum& args);

}  // namespace weft
