#include "kernels/embed.h"

#include <algorithm>
#include <cmath>

#include "kernels/checks.h"
#include "kernels/cpu/embed.h"

namespace weft {
namespace {

// Positions are indices into a table: on a device with data they are checked before anything is read or written.
void check_positions(const Checks& check, const Tensor& table, const Tensor& row_positions, int64_t rows, int64_t width,
                     DType dtype) {
  check.matrix("positions", table, table ? table.rows() : 0, width, dtype);
  check.vector("row_positions", row_positions, rows, DType::I32);
  if (table.meta()) return;
  check.that(cpu::all_below(row_positions, table.rows()), "a row's position lies outside the table {}", table.text());
}

// Scratch from the pool, on the dry device too, whose peak it is part of.
struct Scratch {
  Tensor rows, keys;
  Scratch(Context& context, int64_t width, DType dtype, int64_t keys_needed = 0)
      : rows(context.empty({std::max(2, context.threads()), width}, accumulator_of(dtype))),
        keys(context.empty({keys_needed}, DType::I64)) {}
  template <class T>
  cpu::EmbedScratch<Accumulator<T>> of() const {
    return {rows.data<Accumulator<T>>(), keys.data<int64_t>()};
  }
};

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
  // Of the tables only the rows that are looked up are read.
  CostScope op(context, "embed_forward", static_cast<double>(args.y.elements()) * (args.positions ? 2 : 1),
               bytes_of({args.tokens}) + bytes_of({args.y}) * (args.positions ? 3 : 2));
  const Scratch scratch(context, width, dtype);
  if (op.dry()) return;
  with_float_type(dtype, [&]<class T>() { cpu::embed_forward<T>(args, scratch.of<T>(), context.threads()); });
}

void embed_backward(Context& context, const EmbedBackward& args) {
  const Checks check(context, "embed_backward");
  check.present("dy", args.dy);
  check.floating("dy", args.dy);
  const DType dtype = args.dy.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  check.vector("tokens", args.tokens, rows, DType::I32);
  check.dropout(args.dropout, rows);
  if (args.dtable) check.matrix("dtable", args.dtable, args.dtable.rows(), width, acc_dtype);
  if (args.dpositions) check_positions(check, args.dpositions, args.row_positions, rows, width, acc_dtype);
  const double tables = (args.dtable ? 1 : 0) + (args.dpositions ? 1 : 0);
  const double touched = static_cast<double>(args.dy.elements()) * static_cast<double>(size_of(acc_dtype));
  CostScope op(context, "embed_backward", 2 * tables * static_cast<double>(args.dy.elements()),
               bytes_of({args.tokens}) + bytes_of({args.dy}) + 2 * tables * touched);
  const Scratch scratch(context, width, dtype, rows);
  if (op.dry()) return;
  with_float_type(dtype, [&]<class T>() { cpu::embed_backward<T>(args, scratch.of<T>(), context.threads()); });
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
  CostScope op(context, "add_positions_forward", static_cast<double>(args.x.elements()) * (args.positions ? 2 : 1),
               bytes_of({args.x}) + bytes_of({args.y}) * (args.positions ? 2 : 1));
  const Scratch scratch(context, width, dtype);
  if (op.dry()) return;
  with_float_type(dtype, [&]<class T>() { cpu::add_positions_forward<T>(args, scratch.of<T>(), context.threads()); });
}

void add_positions_backward(Context& context, const AddPositionsBackward& args) {
  const Checks check(context, "add_positions_backward");
  check.present("dy", args.dy);
  check.floating("dy", args.dy);
  const DType dtype = args.dy.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  check.matrix("dx", args.dx, rows, width, dtype);
  check.dropout(args.dropout, rows);
  if (args.dpositions) check_positions(check, args.dpositions, args.row_positions, rows, width, acc_dtype);
  const double touched = static_cast<double>(args.dy.elements()) * static_cast<double>(size_of(acc_dtype));
  CostScope op(context, "add_positions_backward", static_cast<double>(args.dy.elements()) * (args.dpositions ? 3 : 1),
               bytes_of({args.dy}) + bytes_of({args.dx}) + (args.dpositions ? 2 * touched : 0));
  const Scratch scratch(context, width, dtype, rows);
  if (op.dry()) return;
  with_float_type(dtype, [&]<class T>() { cpu::add_positions_backward<T>(args, scratch.of<T>(), context.threads()); });
}

void fill_sinusoids(Tensor table, SinusoidForm form, double base) {
  require<InternalError>(table && table.shape().rank() == 2 && table.dtype() == DType::F32 && base > 0,
                         "fill_sinusoids: table {}, base {}", table.text(), base);
  if (table.meta()) return;
  float* out = table.data<float>();
  const int64_t width = table.columns(), pairs = (width + 1) / 2;
  for (int64_t i = 0; i < pairs; ++i) {
    const double frequency = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const int64_t sine = form == SinusoidForm::Interleaved ? 2 * i : i;
    const int64_t cosine = form == SinusoidForm::Interleaved ? 2 * i + 1 : pairs + i;
    for (int64_t t = 0; t < table.rows(); ++t) {
      const double angle = static_cast<double>(t) * frequency;
      out[t * width + sine] = static_cast<float>(std::sin(angle));
      if (cosine < width) out[t * width + cosine] = static_cast<float>(std::cos(angle));
    }
  }
}

}  // namespace weft
