#include "parallel/output_loss.h"

#include <algorithm>

#include "kernels/cross_entropy.h"
#include "kernels/linear.h"
#include "kernels/matmul.h"
#include "kernels/plain.h"

namespace weft {
namespace {

struct Statistics {
  Tensor max, sum, target, total;
};

Statistics make_statistics(Context& context, int64_t rows, DType wide) {
  const Shape shape{rows};
  return {context.empty(shape, wide), context.empty(shape, wide), context.empty(shape, wide),
          context.empty(shape, wide)};
}

// Logits in the accumulator dtype, for f32 sums of exponentials under bf16 products.
Tensor chunk_logits(Context& context, const OutputLoss& a, const Tensor& hidden) {
  const int64_t vocabulary = a.weight.size(0);
  const DType wide = accumulator_of(a.hidden.dtype());
  const Tensor logits = context.empty({hidden.size(0), vocabulary}, wide);
  matmul(context, {.a = hidden, .b = a.weight, .c = logits, .transpose_b = true});
  if (a.bias) add_row(context, a.bias, logits);
  return logits;
}

void chunk_gradients(Context& context, const OutputLoss& a, const Tensor& hidden, const Tensor& targets,
                     const Tensor& logits, const Statistics& s, const Tensor& dhidden, bool first) {
  const int64_t vocabulary = a.weight.size(0);
  const DType compute = a.hidden.dtype();
  const Tensor dlogits = compute == logits.dtype() ? logits : context.empty(logits.shape(), compute);
  cross_entropy_gradient(context, {.logits = logits,
                                   .targets = targets,
                                   .valid_columns = vocabulary,
                                   .row_max = s.max,
                                   .row_sum = s.sum,
                                   .smoothing = a.smoothing,
                                   .vocabulary = vocabulary,
                                   .scale = a.scale,
                                   .dlogits = dlogits});
  matmul(context, {.a = dlogits, .b = a.weight, .c = dhidden});
  matmul(context, {.a = dlogits,
                   .b = hidden,
                   .c = a.dweight,
                   .transpose_a = true,
                   .mode = first ? a.dweight_mode : Accumulate::Add});
  if (a.dbias) sum_rows(context, dlogits, a.dbias, first ? a.dbias_mode : Accumulate::Add);
}

}  // namespace

void output_loss(Context& context, const OutputLoss& a) {
  const int64_t rows = a.hidden.size(0), vocabulary = a.weight.size(0);
  const DType wide = accumulator_of(a.hidden.dtype());
  const auto row_bytes = vocabulary * static_cast<int64_t>(size_of(wide));
  const int64_t chunk = std::clamp<int64_t>(a.chunk_bytes / row_bytes, 16, std::max<int64_t>(rows, 16));
  bool first = true;
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t end = std::min(rows, begin + chunk);
    const Tensor hidden = a.hidden.slice(begin, end), targets = a.targets.slice(begin, end);
    const Statistics s = make_statistics(context, end - begin, wide);
    const Tensor logits = chunk_logits(context, a, hidden);
    cross_entropy_stats(context, {.logits = logits,
                                  .targets = targets,
                                  .valid_columns = vocabulary,
                                  .row_max = s.max,
                                  .row_sum = s.sum,
                                  .row_target = s.target,
                                  .row_total = a.smoothing > 0 ? s.total : Tensor{}});
    CrossEntropyLoss loss{.targets = targets,
                          .row_max = s.max,
                          .row_sum = s.sum,
                          .row_target = s.target,
                          .row_total = a.smoothing > 0 ? s.total : Tensor{},
                          .smoothing = a.smoothing,
                          .vocabulary = vocabulary,
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
