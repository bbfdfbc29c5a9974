#include "parallel/output_loss.h"

#include <algorithm>

#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/matmul.h"
#include "kernels/reduction.h"

namespace weft {
namespace {

// Which columns of the vocabulary are here.
struct Columns {
  int64_t first = 0, valid = 0;
};

Columns columns_of(const OutputLoss& a) {
  const int64_t here = a.weight.size(0), first = a.tp ? here * a.tp->rank() : 0;
  return {first, std::clamp<int64_t>(a.vocabulary - first, 0, here)};
}

// Of each row over the whole vocabulary; what tp sums lies together.
struct Statistics {
  Tensor max;     // [rows]
  Tensor summed;  // [3, rows]
  Tensor part(int64_t i) const { return summed.slice(i, i + 1).flat(0, max.shape()); }
  Tensor sum() const { return part(0); }
  Tensor target() const { return part(1); }
  Tensor total() const { return part(2); }
};

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
  if (!a.tp || a.tp->size() == 1) return s;
  const Tensor whole_max = context.empty({rows}, logits.dtype());
  convert(context, s.max, whole_max);
  a.tp->all_reduce(whole_max, ReduceOp::Max);
  cross_entropy_rebase(context, {.row_max = s.max, .whole_max = whole_max, .row_sum = s.sum()});
  a.tp->all_reduce(s.summed);
  s.max = whole_max;
  return s;
}

// Logits in the accumulator dtype, for f32 sums of exponentials under bf16 products.
Tensor chunk_logits(Context& context, const OutputLoss& a, const Tensor& hidden) {
  const DType acc_dtype = accumulator_of(a.hidden.dtype());
  const Tensor logits = context.empty({hidden.size(0), a.weight.size(0)}, acc_dtype);
  matmul(context, {.a = hidden, .b = a.weight, .c = logits, .transpose_b = true});
  if (a.bias) add_row(context, a.bias, logits);
  return logits;
}

void chunk_gradients(Context& context, const OutputLoss& a, const Tensor& hidden, const Tensor& targets,
                     const Tensor& logits, const Statistics& s, const Tensor& dhidden, bool first) {
  const Columns columns = columns_of(a);
  const DType compute = a.hidden.dtype();
  const Tensor dlogits = compute == logits.dtype() ? logits : context.empty(logits.shape(), compute);
  cross_entropy_gradient(context, {.logits = logits,
                                   .targets = targets,
                                   .first_column = columns.first,
                                   .valid_columns = columns.valid,
                                   .row_max = s.max,
                                   .row_sum = s.sum(),
                                   .smoothing = a.smoothing,
                                   .vocabulary = a.vocabulary,
                                   .step = a.step,
                                   .dlogits = dlogits});
  matmul(context, {.a = dlogits, .b = a.weight, .c = dhidden});
  matmul(context, {.a = dlogits,
                   .b = hidden,
                   .c = a.dweight,
                   .transpose_a = true,
                   .mode = first ? a.dweight_mode : Accumulate::Add});
  if (a.dbias) sum_rows(context, dlogits, a.dbias, first ? a.dbias_mode : Accumulate::Add);
}

// Without rows no product writes the gradients that replace what is there.
void clear_overwritten(Context& context, const OutputLoss& a) {
  if (a.dweight_mode == Accumulate::Overwrite) fill(context, a.dweight, 0);
  if (a.dbias && a.dbias_mode == Accumulate::Overwrite) fill(context, a.dbias, 0);
}

}  // namespace

void output_loss(Context& context, const OutputLoss& a) {
  const int64_t rows = a.hidden.size(0);
  const DType acc_dtype = accumulator_of(a.hidden.dtype());
  if (rows == 0 && a.dhidden) clear_overwritten(context, a);
  const auto row_bytes = a.weight.size(0) * static_cast<int64_t>(size_of(acc_dtype));
  const int64_t chunk = std::clamp<int64_t>(a.chunk_bytes / row_bytes, 16, std::max<int64_t>(rows, 16));
  bool first = true;
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t end = std::min(rows, begin + chunk);
    const Tensor hidden = a.hidden.slice(begin, end), targets = a.targets.slice(begin, end);
    const Tensor logits = chunk_logits(context, a, hidden);
    const Statistics s = chunk_statistics(context, a, logits, targets);
    CrossEntropyLoss loss{.targets = targets,
                          .row_max = s.max,
                          .row_sum = s.sum(),
                          .row_target = s.target(),
                          .row_total = a.smoothing > 0 ? s.total() : Tensor{},
                          .smoothing = a.smoothing,
                          .vocabulary = a.vocabulary,
                          .loss = a.loss.slice(begin, end)};
    cross_entropy_loss(context, loss);
    if (a.nll) {
      loss.smoothing = 0, loss.row_total = {}, loss.loss = a.nll.slice(begin, end);
      cross_entropy_loss(context, loss);
    }
    if (a.dhidden) chunk_gradients(context, a, hidden, targets, logits, s, a.dhidden.slice(begin, end), first);
    first = false;
  }
}

}  // namespace weft
