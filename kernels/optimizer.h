#pragma once
#include <span>

#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Flat optimizer updates on slices of the flat buffers (all f32, or all f64 in tests). Gradients are multiplied by
// step.clip first. Nothing is changed if step.skip is set.

// AdamW (Loshchilov & Hutter 2019): m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// p -= lr (m / c1 / (sqrt(v / c2) + eps) + weight_decay p), c1, c2 the bias corrections.
// `coupled` adds weight_decay p to g instead (Adam with L2, Kingma & Ba 2015).
struct AdamUpdate {
  Tensor parameter, gradient, moment1, moment2;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool coupled = false;
  StepState step;
};
void adam_update(Context& context, const AdamUpdate& args);

// SGD with momentum (PyTorch's form): buffer = momentum buffer + g + weight_decay p; p -= lr buffer.
struct SgdUpdate {
  Tensor parameter, gradient, buffer;
  double momentum = 0, weight_decay = 0;
  StepState step;
};
void sgd_update(Context& context, const SgdUpdate& args);

// out[0] (f64) = the sum of squares over all parts (added to what is there if Add), in a fixed order for given lengths.
// Non-finite input gives a non-finite sum.
struct SquareSum {
  std::span<const Tensor> parts;
  Tensor out;  // f64[1]
  Accumulate mode = Accumulate::Overwrite;
};
void square_sum(Context& context, const SquareSum& args);

}  // namespace weft
