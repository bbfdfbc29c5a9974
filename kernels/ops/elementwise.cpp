// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/elementwise.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {

void fill(Context& context, const Tensor& t, double value) {
  Checks(context, "fill").present("t", t);
  dispatch(context, {"fill", OperationKind::Memory, 0, static_cast<double>(t.bytes())}, Fill{t, value});
}

void convert(Context& context, const Tensor& from, const Tensor& to) {
  const Checks check(context, "convert");
  check.present("from", from);
  check.present("to", to);
  if (from.dtype() != to.dtype()) check.floating("from", from), check.floating("to", to);
  check.that(from.elements() == to.elements(), "{} to {}", from, to);
  dispatch(context, {"convert", OperationKind::Memory, 0, static_cast<double>(from.bytes() + to.bytes())},
           Convert{from, to});
}

void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y) {
  const Checks check(context, "add_scaled");
  check.floating("y", y);
  check.present("x", x);
  const bool widened = x.dtype() == DType::BF16 && y.dtype() == DType::F32;
  check.vector("x", x, y.elements(), widened ? x.dtype() : y.dtype());
  const double bytes = static_cast<double>(x.bytes()) + 2.0 * static_cast<double>(y.bytes());
  dispatch(context, {"add_scaled", OperationKind::Memory, 2.0 * static_cast<double>(y.elements()), bytes},
           AddScaled{x, scale, y});
}

void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to) {
  const Checks check(context, "gather_rows");
  check.present("from", from);
  check.present("index", index);
  check.vector("index", index, index.elements(), DType::I32);
  check.matrix("to", to, index.elements(), from.columns(), from.dtype());
  dispatch(context, {"gather_rows", OperationKind::Memory, 0, 2.0 * static_cast<double>(to.bytes())},
           GatherRows{from, index, to});
}

void join_columns(Context& context, const Tensor& parts, const Tensor& to) {
  const Checks check(context, "join_columns");
  check.present("parts", parts);
  check.present("to", to);
  check.that(parts.shape().rank() == 3 && to.shape().rank() == 2 && parts.dtype() == to.dtype() &&
                 parts.size(1) == to.size(0) && to.size(1) <= parts.size(0) * parts.size(2),
             "{} as columns of {}", parts, to);
  dispatch(context, {"join_columns", OperationKind::Memory, 0, 2.0 * static_cast<double>(to.bytes())},
           JoinColumns{parts, to});
}

void add_row(Context& context, const Tensor& row, const Tensor& y) {
  const Checks check(context, "add_row");
  check.floating("y", y);
  check.floating("row", row);
  check.that(row.elements() == y.columns(), "row {} to each row of {}", row, y);
  const double bytes = 2.0 * static_cast<double>(y.bytes()) + static_cast<double>(row.bytes());
  dispatch(context, {"add_row", OperationKind::Memory, static_cast<double>(y.elements()), bytes}, AddRow{row, y});
}

}  // namespace weft
