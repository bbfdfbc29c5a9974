// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/matmul.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void matmul(Context& context, const Matmul& args) {
  const Tensor &a = args.a, &b = args.b, &c = args.c;
  const Checks check(context, "matmul");
  check.floating("a", a), check.floating("b", b), check.floating("c", c);
  const int64_t m = args.transpose_a ? a.columns() : a.rows();
  const int64_t k = args.transpose_a ? a.rows() : a.columns();
  const int64_t n = args.transpose_b ? b.rows() : b.columns();
  const int64_t inner = args.transpose_b ? b.columns() : b.rows();
  const bool shapes = inner == k && c.rows() == m && c.columns() == n;
  check.that(shapes, "{}{} times {}{} into {}", a, args.transpose_a ? "^T" : "", b, args.transpose_b ? "^T" : "", c);
  const bool types = a.dtype() == b.dtype() && (c.dtype() == a.dtype() || c.dtype() == accumulator_of(a.dtype()));
  check.that(types, "dtypes of {} times {} into {}", a, b, c);
  const bool add = args.mode == Accumulate::Add;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const auto bytes = static_cast<double>(a.bytes() + b.bytes() + c.bytes() * (add ? 2 : 1));
  dispatch(context, {"matmul", OperationKind::Product, flops, bytes}, args, [&] {
    return OperationParts{{{.kind = OperationKind::Product, .m = m, .n = n, .k = k, .bytes = bytes}, 1}};
  });
}

}  // namespace weft
