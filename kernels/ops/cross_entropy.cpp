// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/cross_entropy.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

void check_chunk(const Checks& check, const Tensor& logits, const Tensor& targets, int64_t valid_columns) {
  check.present("logits", logits);
  const bool accumulates = logits.dtype() == DType::F32 || logits.dtype() == DType::F64;
  check.that(accumulates && logits.shape().rank() == 2, "logits {} are not a matrix of f32 or f64", logits);
  check.that(0 <= valid_columns && valid_columns <= logits.columns(), "{} valid columns of logits {}", valid_columns,
             logits);
  check.vector("targets", targets, logits.size(0), DType::I32);
}

template <class Args>
void check_terms(const Checks& check, const Args& args, int64_t vocabulary) {
  check.that(args.smoothing >= 0 && args.smoothing < 1, "smoothing {} is outside [0, 1)", args.smoothing);
  check.that(args.z_loss >= 0, "z_loss {} is below 0", args.z_loss);
  check.that(vocabulary > 0, "a vocabulary of {}", vocabulary);
}

void check_dlogits(const Checks& check, const Tensor& dlogits, const Tensor& logits) {
  check.floating("dlogits", dlogits);
  check.that(accumulator_of(dlogits.dtype()) == logits.dtype(), "dlogits {} for logits {}", dlogits, logits);
  check.matrix("dlogits", dlogits, logits.size(0), logits.columns(), dlogits.dtype());
}

}  // namespace

void cross_entropy(Context& context, const CrossEntropy& args) {
  const Checks check(context, "cross_entropy");
  check_chunk(check, args.logits, args.targets, args.valid_columns);
  check_terms(check, args, args.valid_columns);
  const int64_t rows = args.logits.size(0);
  check.vector("loss", args.loss, rows, args.logits.dtype());
  if (args.nll) check.vector("nll", args.nll, rows, args.logits.dtype());
  if (args.dlogits) check_dlogits(check, args.dlogits, args.logits);
  const double elements = static_cast<double>(args.logits.elements());
  dispatch(context,
           {"cross_entropy", OperationKind::Memory, elements * (args.dlogits ? 7 : 4),
            bytes_of({args.logits, args.dlogits})},
           args);
}

void cross_entropy_stats(Context& context, const CrossEntropyStats& args) {
  const Checks check(context, "cross_entropy_stats");
  check_chunk(check, args.logits, args.targets, args.valid_columns);
  const int64_t rows = args.logits.size(0);
  const DType dtype = args.logits.dtype();
  check.vector("row_max", args.row_max, rows, dtype);
  check.vector("row_sum", args.row_sum, rows, dtype);
  check.vector("row_target", args.row_target, rows, dtype);
  if (args.row_total) check.vector("row_total", args.row_total, rows, dtype);
  dispatch(context,
           {"cross_entropy_stats", OperationKind::Memory, 4.0 * static_cast<double>(args.logits.elements()),
            static_cast<double>(args.logits.bytes())},
           args);
}

void cross_entropy_rebase(Context& context, const CrossEntropyRebase& args) {
  const Checks check(context, "cross_entropy_rebase");
  check.floating("row_sum", args.row_sum);
  const int64_t rows = args.row_sum.elements();
  check.vector("row_max", args.row_max, rows, args.row_sum.dtype());
  check.vector("whole_max", args.whole_max, rows, args.row_sum.dtype());
  dispatch(context,
           {"cross_entropy_rebase", OperationKind::Memory, 3.0 * static_cast<double>(rows),
            4.0 * static_cast<double>(args.row_sum.bytes())},
           args);
}

void cross_entropy_loss(Context& context, const CrossEntropyLoss& args) {
  const Checks check(context, "cross_entropy_loss");
  check.floating("loss", args.loss);
  const int64_t rows = args.loss.elements();
  const DType dtype = args.loss.dtype();
  check.that(dtype == accumulator_of(dtype), "loss {} has no accumulator dtype", args.loss);
  check.vector("targets", args.targets, rows, DType::I32);
  check.vector("row_max", args.row_max, rows, dtype);
  check.vector("row_sum", args.row_sum, rows, dtype);
  check.vector("row_target", args.row_target, rows, dtype);
  check_terms(check, args, args.vocabulary);
  if (args.smoothing > 0) check.vector("row_total", args.row_total, rows, dtype);
  dispatch(context,
           {"cross_entropy_loss", OperationKind::Memory, 6.0 * static_cast<double>(rows),
            6.0 * static_cast<double>(args.loss.bytes())},
           args);
}

void cross_entropy_gradient(Context& context, const CrossEntropyGradient& args) {
  const Checks check(context, "cross_entropy_gradient");
  check_chunk(check, args.logits, args.targets, args.valid_columns);
  const int64_t rows = args.logits.size(0);
  const DType acc_dtype = args.logits.dtype();
  check.vector("row_max", args.row_max, rows, acc_dtype);
  check.vector("row_sum", args.row_sum, rows, acc_dtype);
  check_dlogits(check, args.dlogits, args.logits);
  check_terms(check, args, args.vocabulary);
  dispatch(context,
           {"cross_entropy_gradient", OperationKind::Memory, 4.0 * static_cast<double>(args.logits.elements()),
            static_cast<double>(args.logits.bytes() + args.dlogits.bytes())},
           args);
}

}  // namespace weft
