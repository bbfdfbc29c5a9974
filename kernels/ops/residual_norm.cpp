// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/residual_norm.h"

#include "base/enum_table.h"
#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

// Operations on one element in the norm and in its gradient.
struct NormCost {
  double forward, backward;
};
constexpr EnumTable<NormKind, NormCost> kCosts = {{NormKind::Layer, {.forward = 8, .backward = 14}},
                                                  {NormKind::Rms, {.forward = 4, .backward = 11}}};

void check_mean(const Checks& check, NormKind kind, const Tensor& mean, int64_t rows, DType dtype) {
  if (kind == NormKind::Layer) return check.vector("mean", mean, rows, dtype);
  check.that(!mean, "mean {} for a norm that subtracts none", mean);
}

void check_forward(const Checks& check, const ResidualNormForward& args) {
  check.present("x", args.x);
  check.floating("x", args.x);
  if (args.sum) check.floating("sum", args.sum);
  const DType dtype = args.sum ? args.sum.dtype() : args.x.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = args.x.rows(), width = args.x.columns();
  check.that(args.x.dtype() == dtype || args.x.dtype() == acc_dtype, "x {} for a sum {}", args.x, args.sum);
  check.dropout(args.dropout, rows);
  if (args.bias) check.vector("bias", args.bias, width, dtype);
  if (args.residual) check.matrix("residual", args.residual, rows, width, dtype);
  if (args.sum) check.matrix("sum", args.sum, rows, width, dtype);
  const bool plain = !args.bias && !args.residual && !args.dropout.active();
  check.that(args.sum || (plain && args.normed),
             "sum is absent, which a plain norm alone allows (bias {}, residual {}, dropout {})", args.bias,
             args.residual, args.dropout.probability);
  if (!args.normed) return;
  check.matrix("normed", args.normed, rows, width, dtype);
  check.vector("gamma", args.gamma, width, dtype);
  if (args.beta) check.vector("beta", args.beta, width, dtype);
  check_mean(check, args.kind, args.mean, rows, acc_dtype);
  check.vector("rstd", args.rstd, rows, acc_dtype);
}

// Returns a gradient of the rows' shape.
const Tensor& check_backward(const Checks& check, const ResidualNormBackward& args) {
  const Tensor& any = args.dnormed ? args.dnormed : args.dsum;
  check.present("dnormed or dsum", any);
  check.floating("dnormed or dsum", any);
  const DType dtype = any.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = any.rows(), width = any.columns();
  check.dropout(args.dropout, rows);
  if (args.dsum) check.matrix("dsum", args.dsum, rows, width, dtype);
  if (args.dx) check.matrix("dx", args.dx.tensor, rows, width, dtype);
  if (args.dresidual) check.matrix("dresidual", args.dresidual.tensor, rows, width, dtype);
  if (args.dbias) check.vector("dbias", args.dbias.tensor, width, acc_dtype);
  check.that(args.dnormed || (!args.dgamma && !args.dbeta), "dgamma {} or dbeta {} without dnormed", args.dgamma.tensor,
             args.dbeta.tensor);
  if (!args.dnormed) return any;
  check.matrix("sum", args.sum, rows, width, dtype);
  check.vector("gamma", args.gamma, width, dtype);
  check_mean(check, args.kind, args.mean, rows, acc_dtype);
  check.vector("rstd", args.rstd, rows, acc_dtype);
  if (args.dgamma) check.vector("dgamma", args.dgamma.tensor, width, acc_dtype);
  if (args.dbeta) check.vector("dbeta", args.dbeta.tensor, width, acc_dtype);
  return any;
}

}  // namespace

void residual_norm_forward(Context& context, const ResidualNormForward& args) {
  const Checks check(context, "residual_norm_forward");
  check_forward(check, args);
  const double elements = static_cast<double>(args.x.elements());
  const double adds = (args.bias ? 1 : 0) + (args.residual ? 1 : 0) + (args.dropout.active() ? 1 : 0);
  dispatch(context,
           {"residual_norm_forward", OperationKind::Memory,
            elements * (adds + (args.normed ? kCosts[args.kind].forward : 0)),
            bytes_of({args.x, args.bias, args.residual, args.gamma, args.beta, args.sum, args.normed, args.mean,
                      args.rstd})},
           args);
}

void residual_norm_backward(Context& context, const ResidualNormBackward& args) {
  const Checks check(context, "residual_norm_backward");
  const Tensor& any = check_backward(check, args);
  const double elements = static_cast<double>(any.elements());
  const double adds = (args.dbias ? 1 : 0) + (args.dsum ? 1 : 0) + (args.dropout.active() ? 1 : 0);
  dispatch(context,
           {"residual_norm_backward", OperationKind::Memory,
            elements * (adds + (args.dnormed ? kCosts[args.kind].backward : 0)),
            bytes_of({args.dsum, args.dnormed, args.sum, args.gamma, args.mean, args.rstd, args.dx.tensor,
                      args.dresidual.tensor, args.dbias.tensor, args.dgamma.tensor, args.dbeta.tensor})},
           args);
}

}  // namespace weft
