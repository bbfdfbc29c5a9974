// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/ops/linear.h"
#include "kernels/step_state.h"
#include "parallel/communicator.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// The output projection with cross-entropy, as one operation: logits = hidden W^T + b, loss of every row. It walks the
// rows in chunks of bounded logits, and computes gradients, if any are wanted, chunk by chunk in the same pass: the
// divisor of the loss is known before the forward starts. Vocabulary-parallel if `tp` has several ranks (Shoeybi et al.
// 2019): each holds equal parts of the vocabulary's rows of weight and bias, the last ones padded; only four numbers a
// row are exchanged, never logits. All ranks hold the same hidden rows and get the same losses; dhidden is this rank's
// part of a sum over tp.
struct OutputLoss {
  Communicator* tp = nullptr;  // null: the whole vocabulary is here
  int64_t vocabulary = 0;      // global; padding beyond it is ignored
  Tensor hidden;               // [rows, width], compute dtype
  Tensor weight;         // [columns, width], compute dtype; columns: the vocabulary, or this rank's padded part of it
  PackedWeight packed;   // read instead of weight; excludes gradients
  Tensor bias;           // [columns] or absent
  Tensor targets;        // i32[rows]; rows with a target < 0 are ignored
  double smoothing = 0;  // label smoothing, in [0, 1)
  double z_loss = 0;     // weight of (log Z)^2 (kernels/ops/cross_entropy.h)
  StepState step;        // its inverse_divisor scales the gradients, not the losses
  Tensor loss;           // accumulator dtype [rows], written, unscaled, in nats
  Tensor nll;            // accumulator dtype [rows], written: -log p(target) alone; or absent
  // Accumulator dtype [rows], written: logit[target] less the largest logit, 0 if the target is the likeliest token; of
  // ignored rows undefined; or absent.
  Tensor margin;
  Tensor dhidden;    // [rows, width], written; absent: no gradients at all
  Gradient dweight;  // accumulator dtype, or absent
  Gradient dbias;    // accumulator dtype, or absent
};
void output_loss(Context& context, const OutputLoss& args);

}  // namespace weft
