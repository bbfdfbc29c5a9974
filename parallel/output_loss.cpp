// SPDX-License-Identifier: Apache-2.0
#include "parallel/output_loss.h"

#include <algorithm>

#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"
#include "kernels/ops/matmul.h"
#include "kernels/ops/reduction.h"

namespace weft {
namespace {

// The columns of the vocabulary that this rank holds.
struct Columns {
  int64_t first = 0, valid = 0;
};

Columns columns_of(const OutputLoss& a) {
  const int64_t here = a.weight.size(0), first = a.tp ? here * a.tp->rank() : 0;
  return {first, std::clamp<int64_t>(a.vocabulary - first, 0, here)};
}

// Statistics of each row over the whole vocabulary. The statistics that tp sums are contiguous.
struct Statistics {
  Tensor max;     // [rows]
  Tensor summed;  // [3, rows]
  Tensor part(int64_t i) const { return summed.slice(i, i + 1).flat(0, max.shape()); }
  Tensor sum() const { return part(0); }
  Tensor target() const { return part(1); }
  Tensor total() const { return part(2); }
};

// Computes the statistics over this rank's columns and combines them over tp.
Statistics chunk_statistics(Context& context, const OutputLoss& a, const Tensor& logits, const Tensor& targets) {
  const int64_t rows = logits.size(0);
  const Columns columns = columns_of(a);
  Statistics s{context.empty({rows}, logits.dtype()), context.empty({3, rows}, logits.dtype())};
  const bool smooth = a.smoothing > 0;
  if (!smooth) fill(context, s.total(), 0);
  cross_entropy_stats(context, {.logits = logits,
                                .targets = targets,
                                .first_column = columns.first,
                                .valid_columns = columns.valid,
                                .row_max = s.max,
                                .row_sum = s.sum(),
                                .row_target = s.target(),
                                .row_total = smooth ? s.total() : Tensor{}});
  const Tensor whole_max = context.empty({rows}, logits.dtype());
  convert(context, s.max, whole_max);
  if (a.tp) a.tp->all_reduce(whole_max, ReduceOp::Max);
  cross_entropy_rebase(context, {.row_max = s.max, .whole_max = whole_max, .row_sum = s.sum()});
  if (a.tp) a.tp->all_reduce(s.summed);
  s.max = whole_max;
  return s;
}

// Logits in the accumulator dtype, for f32 sums of exponentials under bf16 products.
Tensor chunk_logits(Context& context, const OutputLoss& a, const Tensor& hidden) {
  const DType acc_dtype = accumulator_of(a.hidden.dtype());
  const Tensor logits = context.empty({hidden.size(0), a.weight.size(0)}, acc_dtype);
  if (a.packed) {
    linear_forward(context, {.x = hidden, .weight = a.weight, .packed = a.packed, .bias = a.bias, .y = logits});
    return logits;
  }
  matmul(context, {.a = hidden, .b = a.weight, .c = logits, .transpose_b = true});
  if (a.bias) add_row(context, a.bias, logits);
  return logits;
}

// The tensors of a chunk of rows; nll, margin and dhidden are absent if they are absent in OutputLoss.
struct Chunk {
  Tensor hidden, targets, loss, nll, margin, dhidden;
};

Chunk chunk_of(const OutputLoss& a, int64_t begin, int64_t end) {
  const auto rows = [=](const Tensor& t) { return t ? t.slice(begin, end) : Tensor{}; };
  return {rows(a.hidden), rows(a.targets), rows(a.loss), rows(a.nll), rows(a.margin), rows(a.dhidden)};
}

// The tensor for the gradient of the logits: absent without gradients, the logits themselves if they have its dtype.
Tensor logits_gradient(Context& context, const OutputLoss& a, const Tensor& logits) {
  if (!a.dhidden) return {};
  return a.hidden.dtype() == logits.dtype() ? logits : context.empty(logits.shape(), a.hidden.dtype());
}

// Computes the statistics of this rank's part of the vocabulary, then those of the whole vocabulary, then the losses
// and the gradient: vocabulary-parallel, or for margins, which need the largest logit.
void by_statistics(Context& context, const OutputLoss& a, const Chunk& chunk, const Tensor& logits,
                   const Tensor& dlogits) {
  const Statistics s = chunk_statistics(context, a, logits, chunk.targets);
  CrossEntropyLoss loss{.targets = chunk.targets,
                        .row_max = s.max,
                        .row_sum = s.sum(),
                        .row_target = s.target(),
                        .row_total = a.smoothing > 0 ? s.total() : Tensor{},
                        .smoothing = a.smoothing,
                        .z_loss = a.z_loss,
                        .vocabulary = a.vocabulary,
                        .loss = chunk.loss};
  cross_entropy_loss(context, loss);
  if (chunk.nll) {
    loss.smoothing = loss.z_loss = 0, loss.row_total = {}, loss.loss = chunk.nll;
    cross_entropy_loss(context, loss);
  }
  if (chunk.margin) {
    convert(context, s.target(), chunk.margin);
    add_scaled(context, s.max, -1, chunk.margin);
  }
  if (!dlogits) return;
  const Columns columns = columns_of(a);
  cross_entropy_gradient(context, {.logits = logits,
                                   .targets = chunk.targets,
                                   .first_column = columns.first,
                                   .valid_columns = columns.valid,
                                   .row_max = s.max,
                                   .row_sum = s.sum(),
                                   .smoothing = a.smoothing,
                                   .z_loss = a.z_loss,
                                   .vocabulary = a.vocabulary,
                                   .step = a.step,
                                   .dlogits = dlogits});
}

void output_gradients(Context& context, const OutputLoss& a, const Chunk& chunk, const Tensor& dlogits, bool first) {
  matmul(context, {.a = dlogits, .b = a.weight, .c = chunk.dhidden});
  if (a.dweight) {
    matmul(context, {.a = dlogits,
                     .b = chunk.hidden,
                     .c = a.dweight.tensor,
                     .transpose_a = true,
                     .mode = first ? a.dweight.mode : Accumulate::Add});
  }
  if (a.dbias) sum_rows(context, dlogits, a.dbias.tensor, first ? a.dbias.mode : Accumulate::Add);
}

// Without rows no product overwrites the gradients, so they are zeroed here.
void clear_overwritten(Context& context, const OutputLoss& a) {
  for (const Gradient& gradient : {a.dweight, a.dbias}) {
    if (gradient && gradient.mode == Accumulate::Overwrite) fill(context, gradient.tensor, 0);
  }
}

// As many bytes of logits as the weight's gradient has, which every chunk adds to, within the device's limits.
int64_t chunk_rows(const Context& context, const OutputLoss& a) {
  const LogitsChunk limits = context.logits_chunk();
  const auto row_bytes = a.weight.size(0) * static_cast<int64_t>(size_of(accumulator_of(a.hidden.dtype())));
  const int64_t weight_gradient = row_bytes * a.weight.columns();
  const int64_t rows = std::clamp(weight_gradient, limits.least_bytes, limits.most_bytes) / row_bytes;
  return std::max<int64_t>(rows < limits.row_step ? rows : rows / limits.row_step * limits.row_step, 16);
}

}  // namespace

void output_loss(Context& context, const OutputLoss& a) {
  const int64_t rows = a.hidden.size(0), step = chunk_rows(context, a);
  const bool divided = a.tp && a.tp->size() > 1;
  if (rows == 0 && a.dhidden) clear_overwritten(context, a);
  for (int64_t begin = 0; begin < rows; begin += step) {
    const Chunk chunk = chunk_of(a, begin, std::min(rows, begin + step));
    const Tensor logits = chunk_logits(context, a, chunk.hidden), dlogits = logits_gradient(context, a, logits);
    if (divided || a.margin) {
      by_statistics(context, a, chunk, logits, dlogits);
    } else {
      cross_entropy(context, {.logits = logits,
                              .targets = chunk.targets,
                              .valid_columns = columns_of(a).valid,
                              .smoothing = a.smoothing,
                              .z_loss = a.z_loss,
                              .step = a.step,
                              .loss = chunk.loss,
                              .nll = chunk.nll,
                              .dlogits = dlogits});
    }
    if (dlogits) output_gradients(context, a, chunk, dlogits, begin == 0);
  }
}

}  // namespace weft
