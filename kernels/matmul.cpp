#include "kernels/matmul.h"

#include "kernels/cpu/matmul.h"

namespace weft {

void matmul(Context& context, const Matmul& args) {
  const Tensor &a = args.a, &b = args.b, &c = args.c;
  require<InternalError>(a && b && c, "matmul: a {}, b {}, c {}", a.text(), b.text(), c.text());
  const int64_t m = args.transpose_a ? a.columns() : a.rows();
  const int64_t k = args.transpose_a ? a.rows() : a.columns();
  const int64_t n = args.transpose_b ? b.rows() : b.columns();
  const int64_t inner = args.transpose_b ? b.columns() : b.rows();
  const bool shapes = inner == k && c.rows() == m && c.columns() == n;
  require<InternalError>(shapes, "matmul: {}{} times {}{} into {}", a.text(), args.transpose_a ? "^T" : "", b.text(),
                         args.transpose_b ? "^T" : "", c.text());
  const bool types = a.dtype() == b.dtype() && (c.dtype() == a.dtype() || c.dtype() == accumulator_of(a.dtype())) &&
                     (a.dtype() == DType::F32 || a.dtype() == DType::BF16 || a.dtype() == DType::F64);
  require<InternalError>(types, "matmul: dtypes of {} times {} into {}", a.text(), b.text(), c.text());
  const bool add = args.mode == Accumulate::Add;
  Operation op(context, "matmul", 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
               static_cast<double>(a.bytes() + b.bytes() + c.bytes() * (add ? 2 : 1)));
  if (op.dry()) return;
  context.matmul().run({.m = m,
                        .n = n,
                        .k = k,
                        .input = a.dtype(),
                        .output = c.dtype(),
                        .a = a.raw(),
                        .transpose_a = args.transpose_a,
                        .b = b.raw(),
                        .transpose_b = args.transpose_b,
                        .c = c.raw(),
                        .add = add});
}

}  // namespace weft
