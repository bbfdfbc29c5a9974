// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/exact/fixed_point.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

// `floats`, x or out, has n elements of f32; the other tensors of both operations fit it.
template <class Args>
void check_parts(const Checks& check, const Args& args, const char* name, const Tensor& floats) {
  check.present(name, floats);
  const int64_t n = floats.elements();
  check.vector(name, floats, n, DType::F32);
  check.vector("exponent", args.exponent, 1, DType::I32);
  check.vector("high", args.high, n, DType::I64);
  if (args.low) check.vector("low", args.low, n, DType::I64);
  check.vector("facts", args.facts, kFixedPointFacts, DType::I64);
}

}  // namespace

void to_fixed_point(Context& context, const ToFixedPoint& args) {
  const Checks check(context, "to_fixed_point");
  check_parts(check, args, "x", args.x);
  const double times = args.mode == Accumulate::Add ? 2 : 1;
  dispatch(context,
           {"to_fixed_point", OperationKind::Memory, 5.0 * static_cast<double>(args.x.elements()),
            bytes_of({args.x}) + times * bytes_of({args.high, args.low})},
           args);
}

void from_fixed_point(Context& context, const FromFixedPoint& args) {
  const Checks check(context, "from_fixed_point");
  check_parts(check, args, "out", args.out);
  dispatch(context,
           {"from_fixed_point", OperationKind::Memory, 8.0 * static_cast<double>(args.out.elements()),
            bytes_of({args.high, args.low, args.out})},
           args);
}

void sum_exactly(Context& context, const SumExactly& args) {
  const Checks check(context, "sum_exactly");
  check.present("out", args.out);
  const int64_t n = args.out.elements();
  check.vector("out", args.out, n, DType::F32);
  check.that(args.terms >= 1 && args.terms <= kMostFixedPointTerms && (args.terms == 1 || args.stride >= n),
             "{} terms of {} elements, {} apart", args.terms, n, args.stride);
  check.vector("x", args.x, (args.terms - 1) * args.stride + n, DType::F32);
  check.vector("exponent", args.exponent, 1, DType::I32);
  check.vector("facts", args.facts, kFixedPointFacts, DType::I64);
  const auto terms = static_cast<double>(args.terms), elements = static_cast<double>(n);
  dispatch(context,
           {"sum_exactly", OperationKind::Memory, (5.0 * terms + 8.0) * elements, (terms + 1) * bytes_of({args.out})},
           args);
}

}  // namespace weft
