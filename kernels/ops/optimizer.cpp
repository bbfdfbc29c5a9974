// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/optimizer.h"

#include <algorithm>

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"
#include "kernels/transfer.h"

namespace weft {
namespace {

template <class Args>
void check_update(const Checks& check, const Args& args) {
  const Tensor& parameter = args.parameter;
  check.present("parameter", parameter);
  const bool accumulates = parameter.dtype() == DType::F32 || parameter.dtype() == DType::F64;
  check.that(accumulates, "parameter {} is neither f32 nor f64", parameter);
  check.vector("gradient", args.gradient, parameter.elements(), parameter.dtype());
  if (args.compute) {
    check.floating("compute", args.compute);
    check.vector("compute", args.compute, parameter.elements(), args.compute.dtype());
  }
  check.that(args.spans != nullptr, "no spans for parameter {}", parameter);
  check.that(args.spans->begins.back() <= parameter.elements(), "a span begins at {} of {}", args.spans->begins.back(),
             parameter);
}

}  // namespace

SharedUpdateSpans share_update_spans(Context& context, std::vector<int64_t> begins, std::vector<double> decays,
                                     std::vector<double> rates) {
  const bool rising = !begins.empty() && begins.front() == 0 && std::is_sorted(begins.begin(), begins.end());
  require<InternalError>(rising && begins.size() == decays.size() && begins.size() == rates.size(),
                         "{} spans of {} weight decays and {} rates", begins.size(), decays.size(), rates.size());
  auto spans = std::make_shared<UpdateSpans>();
  spans->device_begins = to_device(context, std::span<const int64_t>(begins));
  spans->device_decays = to_device(context, std::span<const double>(decays));
  spans->device_rates = to_device(context, std::span<const double>(rates));
  spans->begins = std::move(begins), spans->decays = std::move(decays), spans->rates = std::move(rates);
  return spans;
}

void adam_update(Context& context, const AdamUpdate& args) {
  const Checks check(context, "adam_update");
  check_update(check, args);
  check.vector("moment1", args.moment1, args.parameter.elements(), args.parameter.dtype());
  check.vector("moment2", args.moment2, args.parameter.elements(), args.parameter.dtype());
  const double bytes = 7.0 * static_cast<double>(args.parameter.bytes()) + bytes_of({args.compute});
  dispatch(context,
           {"adam_update", OperationKind::Memory, 14.0 * static_cast<double>(args.parameter.elements()), bytes}, args);
}

void sgd_update(Context& context, const SgdUpdate& args) {
  const Checks check(context, "sgd_update");
  check_update(check, args);
  check.vector("buffer", args.buffer, args.parameter.elements(), args.parameter.dtype());
  const double bytes = 5.0 * static_cast<double>(args.parameter.bytes()) + bytes_of({args.compute});
  dispatch(context, {"sgd_update", OperationKind::Memory, 7.0 * static_cast<double>(args.parameter.elements()), bytes},
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
  dispatch(context, {"square_sum", OperationKind::Memory, 2 * elements, bytes}, args);
}

}  // namespace weft
