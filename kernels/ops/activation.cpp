// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/activation.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

void check_gate(const Checks& check, const char* hidden_name, const Tensor& hidden, const Tensor& pre,
                const Dropout& dropout) {
  check.floating(hidden_name, hidden);
  check.matrix("pre", pre, hidden.rows(), 2 * hidden.columns(), hidden.dtype());
  check.dropout(dropout, hidden.rows());
}

}  // namespace

void activate(Context& context, const Activate& args) {
  const Checks check(context, "activate");
  check.floating("pre", args.pre);
  const int64_t rows = args.pre.rows(), columns = args.pre.columns();
  check.matrix("y", args.y, rows, columns, args.pre.dtype());
  check.dropout(args.dropout, rows);
  dispatch(context,
           {"activate", OperationKind::Memory, static_cast<double>(args.pre.elements()), bytes_of({args.pre, args.y})},
           args);
}

void gate_forward(Context& context, const GateForward& args) {
  check_gate(Checks(context, "gate_forward"), "y", args.y, args.pre, args.dropout);
  const double elements = static_cast<double>(args.y.elements());
  dispatch(context, {"gate_forward", OperationKind::Memory, 2 * elements, bytes_of({args.pre, args.y})}, args);
}

void gate_backward(Context& context, const GateBackward& args) {
  const Checks check(context, "gate_backward");
  check_gate(check, "dy", args.dy, args.pre, args.dropout);
  check.matrix("dpre", args.dpre, args.pre.rows(), args.pre.columns(), args.pre.dtype());
  const double elements = static_cast<double>(args.dy.elements());
  dispatch(context, {"gate_backward", OperationKind::Memory, 5 * elements, bytes_of({args.dy, args.pre, args.dpre})},
           args);
}

}  // namespace weft
