// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/reduction.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void sum_rows(Context& context, const Tensor& x, const Tensor& out, Accumulate mode) {
  const Checks check(context, "sum_rows");
  check.floating("x", x);
  check.vector("out", out, x.columns(), accumulator_of(x.dtype()));
  dispatch(context,
           {"sum_rows", OperationKind::Memory, static_cast<double>(x.elements()),
            static_cast<double>(x.bytes() + out.bytes())},
           SumRows{x, out, mode});
}

void sum_all(Context& context, const Tensor& x, const Tensor& out, Accumulate mode) {
  const Checks check(context, "sum_all");
  check.floating("x", x);
  check.vector("out", out, 1, DType::F64);
  dispatch(context,
           {"sum_all", OperationKind::Memory, static_cast<double>(x.elements()), static_cast<double>(x.bytes())},
           SumAll{x, out, mode});
}

}  // namespace weft
