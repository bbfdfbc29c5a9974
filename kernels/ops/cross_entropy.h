// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Cross-entropy: one operation if this rank holds the whole vocabulary, the four below if ranks share it.
// Logits have the accumulator dtype. Columns from `valid_columns` on are padding: they count as -inf.
// Loss of a row with target t, smoothing e, vocabulary V (as torch.nn.CrossEntropyLoss defines label smoothing), and
// weight z of the z-loss (Chowdhery et al. 2022, section 5), which draws log Z towards 0:
//   log Z - (1 - e) logit[t] - e / V sum_v logit[v] + z (log Z)^2,   Z = sum_v exp(logit[v]).
// A row with target < 0 is ignored: its loss and gradient are 0. A NaN or +inf among the logits of any other row makes
// its loss non-finite.

// Works on one row at a time while the row is in cache, and computes each logit's exponential once. The gradient is
// that of CrossEntropyGradient.
struct CrossEntropy {
  Tensor logits;              // [rows, columns]; if dlogits is given, undefined afterwards
  Tensor targets;             // i32[rows]; the loss of a target beyond the vocabulary is NaN
  int64_t valid_columns = 0;  // the vocabulary, at least 1
  double smoothing = 0;
  double z_loss = 0;
  StepState step;  // used for dlogits
  Tensor loss;     // [rows], written
  Tensor nll;      // [rows], written: the loss without smoothing and z-loss; or absent
  // [rows, columns], compute dtype, written; or absent. May be the memory of logits if the dtypes are equal.
  Tensor dlogits;
};
void cross_entropy(Context& context, const CrossEntropy& args);

// Statistics of a chunk of the vocabulary, which combine over chunks.
struct CrossEntropyStats {
  Tensor logits;              // [rows, columns]
  Tensor targets;             // i32[rows], global token ids
  int64_t first_column = 0;   // global id of column 0
  int64_t valid_columns = 0;  // columns of this chunk that are not padding
  Tensor row_max;             // [rows], written: maximum over this chunk
  Tensor row_sum;             // [rows], written: sum of exp(logit - row_max)
  Tensor row_target;          // [rows], written: logit[target], or 0 if the target is not in this chunk
  Tensor row_total;           // [rows], written: sum of logits (label smoothing), or absent
};
void cross_entropy_stats(Context& context, const CrossEntropyStats& args);

// row_sum *= exp(row_max - whole_max): rescales a chunk's sum of exponentials, to be added to those of other chunks.
struct CrossEntropyRebase {
  Tensor row_max;    // [rows]: maximum over the chunk
  Tensor whole_max;  // [rows]: maximum over the whole vocabulary
  Tensor row_sum;    // [rows], updated in place
};
void cross_entropy_rebase(Context& context, const CrossEntropyRebase& args);

// loss[r] from statistics of the whole vocabulary, without averaging.
struct CrossEntropyLoss {
  Tensor targets;
  Tensor row_max, row_sum, row_target, row_total;
  double smoothing = 0;
  double z_loss = 0;
  int64_t vocabulary = 0;
  Tensor loss;  // [rows], written
};
void cross_entropy_loss(Context& context, const CrossEntropyLoss& args);

// dlogits = step.inverse_divisor ((1 + 2 z log Z) softmax - (1 - e) onehot(target) - e / V); padding columns and
// ignored rows get 0.
struct CrossEntropyGradient {
  Tensor logits;
  Tensor targets;
  int64_t first_column = 0;
  int64_t valid_columns = 0;
  Tensor row_max, row_sum;  // over the whole vocabulary
  double smoothing = 0;
  double z_loss = 0;
  int64_t vocabulary = 0;
  StepState step;
  Tensor dlogits;  // [rows, columns], compute dtype; may be the memory of logits if the dtypes are equal
};
void cross_entropy_gradient(Context& context, const CrossEntropyGradient& args);

}  // namespace weft
