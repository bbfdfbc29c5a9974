#include "kernels/optimizer.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

void check_update(const Checks& check, const Tensor& parameter, const Tensor& gradient) {
  check.present("parameter", parameter);
  const bool accumulates = parameter.dtype() == DType::F32 || parameter.dtype() == DType::F64;
  check.that(accumulates, "parameter {} is neither f32 nor f64", parameter);
  check.vector("gradient", gradient, parameter.elements(), parameter.dtype());
}

}  // namespace

void adam_update(Context& context, const AdamUpdate& args) {
  const Checks check(context, "adam_update");
  check_update(check, args.parameter, args.gradient);
  check.vector("moment1", args.moment1, args.parameter.elements(), args.parameter.dtype());
  check.vector("moment2", args.moment2, args.parameter.elements(), args.parameter.dtype());
  dispatch(context,
           {"adam_update", 14.0 * static_cast<double>(args.parameter.elements()),
            7.0 * static_cast<double>(args.parameter.bytes())},
           args);
}

void sgd_update(Context& context, const SgdUpdate& args) {
  const Checks check(context, "sgd_update");
  check_update(check, args.parameter, args.gradient);
  check.vector("buffer", args.buffer, args.parameter.elements(), args.parameter.dtype());
  dispatch(context,
           {"sgd_update", 7.0 * static_cast<double>(args.parameter.elements()),
            5.0 * static_cast<double>(args.parameter.bytes())},
           args);
}

void square_sum(Context& context, const SquareSum& args) {
  const Checks check(context, "square_sum");
  double elements = 0, bytes = 0;
  for (const Tensor& part : args.parts) {
    check.floating("part", part);
    elements += static_cast<double>(part.elements()), bytes += static_cast<double>(part.bytes());
  }
  check.vector("out", args.out, 1, DType::F64);
  dispatch(context, {"square_sum", 2 * elements, bytes}, args);
}

}  // namespace weft
