#include "kernels/elementwise.h"

#include "kernels/checks.h"
#include "kernels/cpu/elementwise.h"

namespace weft {

void fill(Context& context, Tensor t, double value) {
  const Checks check(context, "fill");
  check.floating("t", t);
  CostScope op(context, "fill", 0, static_cast<double>(t.bytes()));
  if (op.dry()) return;
  cpu::fill(t, value, context.threads());
}

void convert(Context& context, const Tensor& from, const Tensor& to) {
  const Checks check(context, "convert");
  check.present("from", from);
  if (!to || from.dtype() != to.dtype()) check.floating("from", from), check.floating("to", to);
  check.that(from.elements() == to.elements(), "{} to {}", from.text(), to.text());
  CostScope op(context, "convert", 0, static_cast<double>(from.bytes() + to.bytes()));
  if (op.dry()) return;
  cpu::convert(from, to, context.threads());
}

void add_scaled(Context& context, const Tensor& x, double scale, const Tensor& y) {
  const Checks check(context, "add_scaled");
  check.floating("y", y);
  check.vector("x", x, y.elements(), y.dtype());
  CostScope op(context, "add_scaled", 2.0 * static_cast<double>(y.elements()), 3.0 * static_cast<double>(y.bytes()));
  if (op.dry()) return;
  cpu::add_scaled(x, scale, y, context.threads());
}

void scale_in_place(Context& context, const Tensor& y, double scale) {
  const Checks check(context, "scale_in_place");
  check.floating("y", y);
  CostScope op(context, "scale_in_place", static_cast<double>(y.elements()), 2.0 * static_cast<double>(y.bytes()));
  if (op.dry()) return;
  cpu::scale_in_place(y, scale, context.threads());
}

void gather_rows(Context& context, const Tensor& from, const Tensor& index, const Tensor& to) {
  const Checks check(context, "gather_rows");
  check.present("from", from);
  check.present("index", index);
  check.vector("index", index, index.elements(), DType::I32);
  check.matrix("to", to, index.elements(), from.columns(), from.dtype());
  CostScope op(context, "gather_rows", 0, 2.0 * static_cast<double>(to.bytes()));
  if (op.dry()) return;
  cpu::gather_rows(from, index, to, context.threads());
}

void join_columns(Context& context, const Tensor& parts, const Tensor& to) {
  const Checks check(context, "join_columns");
  check.present("parts", parts);
  check.present("to", to);
  check.that(parts.shape().rank() == 3 && to.shape().rank() == 2 && parts.dtype() == to.dtype() &&
                 parts.size(1) == to.size(0) && to.size(1) <= parts.size(0) * parts.size(2),
             "{} as columns of {}", parts.text(), to.text());
  CostScope op(context, "join_columns", 0, 2.0 * static_cast<double>(to.bytes()));
  if (op.dry()) return;
  cpu::join_columns(parts, to);
}

void add_row(Context& context, const Tensor& row, const Tensor& y) {
  const Checks check(context, "add_row");
  check.floating("y", y);
  check.floating("row", row);
  check.that(row.elements() == y.columns(), "row {} to each row of {}", row.text(), y.text());
  CostScope op(context, "add_row", static_cast<double>(y.elements()),
               2.0 * static_cast<double>(y.bytes()) + static_cast<double>(row.bytes()));
  if (op.dry()) return;
  cpu::add_row(row, y, context.threads());
}

}  // namespace weft
