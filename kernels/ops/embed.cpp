// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/embed.h"

#include <cmath>

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

void check_positions(const Checks& check, const Tensor& table, const Tensor& row_positions, int64_t rows, int64_t width,
                     DType dtype) {
  check.matrix("positions", table, table ? table.rows() : 0, width, dtype);
  check.vector("row_positions", row_positions, rows, DType::I32);
}

// One column of a table of sinusoids: the sine or cosine of (t + first_position) base^(-exponent / width).
struct SinusoidColumn {
  bool cosine = false;
  int64_t exponent = 0;
  int64_t first_position = 0;
};

SinusoidColumn sinusoid_column(SinusoidForm form, int64_t column, int64_t width) {
  const int64_t sines = (width + 1) / 2;
  switch (form) {
    case SinusoidForm::Interleaved:
      return {.cosine = column % 2 == 1, .exponent = column / 2 * 2};
    case SinusoidForm::Halves:
      return {.cosine = column >= sines, .exponent = column % sines * 2};
    case SinusoidForm::HalvesFromOne:
      return {.cosine = column >= sines, .exponent = column % sines * 2 + 2, .first_position = 1};
    case SinusoidForm::PerColumn:
      return {.cosine = column % 2 == 1, .exponent = column};
  }
  throw InternalError("no such form of sinusoids");
}

}  // namespace

void embed_forward(Context& context, const EmbedForward& args) {
  const Checks check(context, "embed_forward");
  check.present("table", args.table);
  check.floating("table", args.table);
  check.present("tokens", args.tokens);
  const DType dtype = args.table.dtype();
  const int64_t rows = args.tokens.elements(), width = args.table.columns();
  check.vector("tokens", args.tokens, rows, DType::I32);
  check.matrix("y", args.y, rows, width, dtype);
  check.dropout(args.dropout, rows);
  if (args.positions) check_positions(check, args.positions, args.row_positions, rows, width, dtype);
  // Only the rows that are looked up are read from the tables.
  dispatch(context,
           {"embed_forward", OperationKind::Memory, static_cast<double>(args.y.elements()) * (args.positions ? 2 : 1),
            bytes_of({args.tokens}) + bytes_of({args.y}) * (args.positions ? 3 : 2)},
           args);
}

void embed_backward(Context& context, const EmbedBackward& args) {
  const Checks check(context, "embed_backward");
  check.present("dy", args.dy);
  check.floating("dy", args.dy);
  const DType dtype = args.dy.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  check.vector("tokens", args.tokens, rows, DType::I32);
  check.dropout(args.dropout, rows);
  if (args.dtable) {
    check.matrix("dtable", args.dtable.tensor, args.dtable.tensor.rows(), width, acc_dtype);
    check.vector("by_token", args.by_token, rows, DType::I32);
  }
  if (args.dpositions) {
    check_positions(check, args.dpositions.tensor, args.row_positions, rows, width, acc_dtype);
    check.vector("by_position", args.by_position, rows, DType::I32);
  }
  const double tables = (args.dtable ? 1 : 0) + (args.dpositions ? 1 : 0);
  const double touched = static_cast<double>(args.dy.elements()) * static_cast<double>(size_of(acc_dtype));
  dispatch(context,
           {"embed_backward", OperationKind::Memory, 2 * tables * static_cast<double>(args.dy.elements()),
            bytes_of({args.tokens}) + bytes_of({args.dy}) + 2 * tables * touched},
           args);
}

void add_positions_forward(Context& context, const AddPositionsForward& args) {
  const Checks check(context, "add_positions_forward");
  check.present("x", args.x);
  check.floating("x", args.x);
  const DType dtype = args.x.dtype();
  const int64_t rows = args.x.rows(), width = args.x.columns();
  check.matrix("y", args.y, rows, width, dtype);
  check.dropout(args.dropout, rows);
  if (args.positions) check_positions(check, args.positions, args.row_positions, rows, width, dtype);
  dispatch(context,
           {"add_positions_forward", OperationKind::Memory,
            static_cast<double>(args.x.elements()) * (args.positions ? 2 : 1),
            bytes_of({args.x}) + bytes_of({args.y}) * (args.positions ? 2 : 1)},
           args);
}

void add_positions_backward(Context& context, const AddPositionsBackward& args) {
  const Checks check(context, "add_positions_backward");
  check.present("dy", args.dy);
  check.floating("dy", args.dy);
  const DType dtype = args.dy.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  check.matrix("dx", args.dx, rows, width, dtype);
  check.dropout(args.dropout, rows);
  if (args.dpositions) {
    check_positions(check, args.dpositions.tensor, args.row_positions, rows, width, acc_dtype);
    check.vector("by_position", args.by_position, rows, DType::I32);
  }
  const double touched = static_cast<double>(args.dy.elements()) * static_cast<double>(size_of(acc_dtype));
  dispatch(context,
           {"add_positions_backward", OperationKind::Memory,
            static_cast<double>(args.dy.elements()) * (args.dpositions ? 3 : 1),
            bytes_of({args.dy}) + bytes_of({args.dx}) + (args.dpositions ? 2 * touched : 0)},
           args);
}

std::vector<float> sinusoids(int64_t length, int64_t width, SinusoidForm form, double base) {
  require<InternalError>(length >= 0 && width > 0 && base > 0, "sinusoids: {} positions of width {}, base {}", length,
                         width, base);
  std::vector<float> table(static_cast<size_t>(length * width));
  for (int64_t c = 0; c < width; ++c) {
    const SinusoidColumn column = sinusoid_column(form, c, width);
    const double frequency = std::pow(base, -static_cast<double>(column.exponent) / static_cast<double>(width));
    for (int64_t t = 0; t < length; ++t) {
      const double angle = static_cast<double>(t + column.first_position) * frequency;
      table[t * width + c] = static_cast<float>(column.cosine ? std::cos(angle) : std::sin(angle));
    }
  }
  return table;
}

}  // namespace weft
