#include "kernels/reduction.h"

#include "kernels/checks.h"
#include "kernels/cpu/reduction.h"

namespace weft {

void sum_rows(Context& context, const Tensor& x, const Tensor& out, Accumulate mode) {
  const Checks check(context, "sum_rows");
  check.floating("x", x);
  check.vector("out", out, x.columns(), accumulator_of(x.dtype()));
  CostScope op(context, "sum_rows", static_cast<double>(x.elements()), static_cast<double>(x.bytes() + out.bytes()));
  const Tensor partial = context.empty({context.threads(), x.columns()}, out.dtype());
  if (op.dry()) return;
  cpu::sum_rows(x, out, mode == Accumulate::Add, partial, context.threads());
}

void sum_all(Context& context, const Tensor& x, const Tensor& out) {
  const Checks check(context, "sum_all");
  check.floating("x", x);
  check.vector("out", out, 1, DType::F64);
  CostScope op(context, "sum_all", static_cast<double>(x.elements()), static_cast<double>(x.bytes()));
  const Tensor partial = context.empty({cpu::sum_blocks(x.elements())}, DType::F64);
  if (op.dry()) return;
  cpu::sum_all(x, false, out, partial, context.threads());
}

}  // namespace weft
