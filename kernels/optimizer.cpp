#include "kernels/optimizer.h"

#include "kernels/checks.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/reduction.h"

namespace weft {
namespace {

void check_update(const Checks& check, const Tensor& parameter, const Tensor& gradient, const StepState* state) {
  check.present("parameter", parameter);
  const bool accumulates = parameter.dtype() == DType::F32 || parameter.dtype() == DType::F64;
  check.that(accumulates, "parameter {} is neither f32 nor f64", parameter.text());
  check.vector("gradient", gradient, parameter.elements(), parameter.dtype());
  check.that(state != nullptr, "no step state for parameter {}", parameter.text());
}

}  // namespace

void adam_update(Context& context, const AdamUpdate& args) {
  const Checks check(context, "adam_update");
  check_update(check, args.parameter, args.gradient, args.state);
  check.vector("moment1", args.moment1, args.parameter.elements(), args.parameter.dtype());
  check.vector("moment2", args.moment2, args.parameter.elements(), args.parameter.dtype());
  CostScope op(context, "adam_update", 14.0 * static_cast<double>(args.parameter.elements()),
               7.0 * static_cast<double>(args.parameter.bytes()));
  if (op.dry() || args.state->skip) return;
  cpu::adam_update(args, context.threads());
}

void sgd_update(Context& context, const SgdUpdate& args) {
  const Checks check(context, "sgd_update");
  check_update(check, args.parameter, args.gradient, args.state);
  check.vector("buffer", args.buffer, args.parameter.elements(), args.parameter.dtype());
  CostScope op(context, "sgd_update", 7.0 * static_cast<double>(args.parameter.elements()),
               5.0 * static_cast<double>(args.parameter.bytes()));
  if (op.dry() || args.state->skip) return;
  cpu::sgd_update(args, context.threads());
}

void square_sum(Context& context, const SquareSum& args) {
  const Checks check(context, "square_sum");
  check.floating("x", args.x);
  check.vector("out", args.out, 1, DType::F64);
  CostScope op(context, "square_sum", 2.0 * static_cast<double>(args.x.elements()),
               static_cast<double>(args.x.bytes()));
  const Tensor partial = context.empty({cpu::sum_blocks(args.x.elements())}, DType::F64);
  if (op.dry()) return;
  cpu::sum_all(args.x, true, args.out, partial, context.threads());
}

}  // namespace weft
