// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/context.h"
#include "kernels/step_state.h"

namespace weft {

// Cross-entropy, in one operation where the whole vocabulary is here, and below in four where it is divided over ranks.
// Logits are of the accumulator dtype. Columns at or beyond `valid_columns` are padding: they count as -inf.
// Loss of a row with target t, smoothing e, vocabulary V (as torch.nn.CrossEntropyLoss defines label smoothing):
//   log Z - (1 - e) logit[t] - e / V sum_v logit[v],   Z = sum_v exp(logit[v]).
// target < 0: the row counts for nothing, loss and gradient 0. A NaN or +inf among the logits of a row that counts
// makes its loss non-finite.

// A row at a time while it is in cache, each logit's exponential taken once. The gradient is CrossEntropyGradient's.
struct CrossEntropy {
  Tensor logits;              // [rows, columns]; if dlogits is given, undefined afterwards
  Tensor targets;             // i32[rows]; one beyond the vocabulary has the loss NaN
  int64_t valid_columns = 0;  // the vocabulary, at least 1
  double smoothing = 0;
  StepState step;  // for dlogits
  Tensor loss;     // [rows], written
  Tensor nll;      // [rows], written: the loss without smoothing; or absent
  Tensor dlogits;  // [rows, columns], written, or absent; compute dtype; may be the memory of logits if the dtypes are
                   // equal
};
void cross_entropy(Context& context, const CrossEntropy& args);

// A chunk of the vocabulary, so that shards combine.
struct CrossEntropyStats {
  Tensor logits;              // [rows, columns]
  Tensor targets;             // i32[rows], global token ids
  int64_t first_column = 0;   // global id of column 0
  int64_t valid_columns = 0;  // of this chunk
  Tensor row_max;             // [rows], written: maximum over this chunk
  Tensor row_sum;             // [rows], written: sum of exp(logit - row_max)
  Tensor row_target;          // [rows], written: logit[target], or 0 if the target is not in this chunk
  Tensor row_total;           // [rows], written: sum of logits (label smoothing), or absent
};
void cross_entropy_stats(Context& context, const CrossEntropyStats& args);

// row_sum *= exp(row_max - whole_max): a chunk's sum of exponentials made ready to be added to the other chunks'.
struct CrossEntropyRebase {
  Tensor row_max;    // [rows], of the chunk
  Tensor whole_max;  // [rows], of the whole vocabulary
  Tensor row_sum;    // [rows], in place
};
void cross_entropy_rebase(Context& context, const CrossEntropyRebase& args);

// loss[r] from statistics of the whole vocabulary; nothing is averaged here.
struct CrossEntropyLoss {
  Tensor targets;
  Tensor row_max, row_sum, row_target, row_total;
  double smoothing = 0;
  int64_t vocabulary = 0;
  Tensor loss;  // [rows], written
};
void cross_entropy_loss(Context& context, const CrossEntropyLoss& args);

// dlogits = step.inverse_divisor (softmax - (1 - e) onehot(target) - e / V); padding columns and ignored rows get 0.
struct CrossEntropyGradient {
  Tensor logits;
  Tensor targets;
  int64_t first_column = 0;
  int64_t valid_columns = 0;
  Tensor row_max, row_sum;  // of the whole vocabulary
  double smoothing = 0;
  int64_t vocabulary = 0;
  StepState step;
  Tensor dlogits;  // [rows, columns], compute dtype; may be the memory of logits if the dtypes are equal
};
void cross_entropy_gradient(Context& context, const CrossEntropyGradient& args);

}  // namespace weft
