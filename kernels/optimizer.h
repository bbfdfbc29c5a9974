#pragma once
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Flat optimizer updates on slices of the flat buffers (all f32, or all f64 in tests). Gradients are multiplied by
// state->clip first. Nothing is changed if state->skip is set.

// AdamW (Loshchilov & Hutter 2019): m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
// p -= lr (m / c1 / (sqrt(v / c2) + eps) + weight_decay p), c1, c2 the bias corrections.
// `coupled` adds weight_decay p to g instead (Adam with L2, Kingma & Ba 2015).
struct AdamUpdate {
  Tensor parameter, gradient, moment1, moment2;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool coupled = false;
  const StepState* state = nullptr;
};
void adam_update(Context& context, const AdamUpdate& args);

// SGD with momentum (PyTorch's form): buffer = momentum buffer + g + weight_decay p; p -= lr buffer.
struct SgdUpdate {
  Tensor parameter, gradient, buffer;
  double momentum = 0, weight_decay = 0;
  const StepState* state = nullptr;
};
void sgd_update(Context& context, const SgdUpdate& args);

// out[0] (f64) = sum of squares; fixed order for a given length and thread count. Non-finite input gives a non-finite
// sum.
struct SquareSum {
  Tensor x;
  Tensor out;  // f64[1]
};
void square_sum(Context& context, const SquareSum& args);

}  // namespace weft
