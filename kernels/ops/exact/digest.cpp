// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/exact/digest.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void add_digest(Context& context, const AddDigest& args) {
  const Checks check(context, "add_digest");
  check.present("x", args.x);
  check.that(args.key || args.x.dtype() == DType::I64, "{} without a key", args.x);
  check.vector("sum", args.sum, 1, DType::I64);
  const double each = args.key ? 10 : 1;
  dispatch(context,
           {"add_digest", OperationKind::Memory, each * static_cast<double>(args.x.elements()), bytes_of({args.x})},
           args);
}

}  // namespace weft
