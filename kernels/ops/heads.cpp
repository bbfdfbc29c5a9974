// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/heads.h"

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"

namespace weft {
namespace {

// Rows of heads, their norm and their rotation.
struct Heads {
  const Tensor& rows;
  const HeadRow& row;
  const HeadNorm& norm;
  const Rotary& rotary;

  DType dtype() const { return rows.dtype(); }
  DType acc_dtype() const { return accumulator_of(dtype()); }
};

void check_row(const Checks& check, const char* name, const Tensor& x, const HeadRow& row) {
  check.floating(name, x);
  check.matrix(name, x, x.rows(), row.columns(), x.dtype());
}

// Requires a tensor of a norm to be like the rows: its result, or what it read.
void check_like(const Checks& check, const char* name, const Tensor& x, const Heads& h) {
  check.matrix(name, x, h.rows.rows(), h.rows.columns(), h.dtype());
}

// `heads`: of this kind in a row.
void check_gamma(const Checks& check, const char* name, const Tensor& gamma, int64_t heads, const Heads& h) {
  if (!gamma) return;
  check.that(heads > 0, "{} {} for rows that have no such heads", name, gamma);
  check.vector(name, gamma, h.norm.scope == QkNorm::Width ? heads * h.row.head_dim : h.row.head_dim, h.dtype());
}

void check_heads(const Checks& check, const char* name, const Heads& h) {
  check_row(check, name, h.rows, h.row);
  check.that(h.row.head_dim <= kMostHeadColumns, "heads of {} columns", h.row.head_dim);
  if (h.norm.scope != QkNorm::None) {
    check_gamma(check, "query_gamma", h.norm.query_gamma, h.row.groups * h.row.queries, h);
    check_gamma(check, "key_gamma", h.norm.key_gamma, h.row.groups * h.row.keys, h);
  }
  if (h.norm.scope == QkNorm::Width) check.matrix("squares", h.norm.squares, h.rows.rows(), 2, h.acc_dtype());
  const Rotary& rotary = h.rotary;
  if (!rotary.cosines) return;
  check.that(h.row.head_dim % 2 == 0, "heads of {} columns, which do not pair", h.row.head_dim);
  check.matrix("cosines", rotary.cosines, rotary.cosines.rows(), h.row.head_dim / 2, h.acc_dtype());
  check.matrix("sines", rotary.sines, rotary.cosines.rows(), h.row.head_dim / 2, h.acc_dtype());
  check.vector("row_positions", rotary.row_positions, h.rows.rows(), DType::I32);
}

void check_gradient(const Checks& check, const char* name, const Gradient& gradient, const Tensor& gamma,
                    const Heads& h) {
  if (gradient) check.vector(name, gradient.tensor, gamma ? gamma.elements() : 0, h.acc_dtype());
}

// The bytes of the tables' rows: each row of heads reads one of each.
double bytes_of_rotation(const Heads& h) {
  if (!h.rotary.cosines) return 0;
  return static_cast<double>(h.rows.rows() * h.row.head_dim) * static_cast<double>(size_of(h.acc_dtype())) +
         bytes_of({h.rotary.row_positions});
}

double bytes_of_norm(const HeadNorm& norm) { return bytes_of({norm.query_gamma, norm.key_gamma, norm.squares}); }

// The part of a row that is not values.
double share(const HeadRow& row) {
  return static_cast<double>(row.queries + row.keys) / static_cast<double>(row.of_group());
}

double turned(const Heads& h) { return static_cast<double>(h.rows.elements()) * share(h.row); }

}  // namespace

void heads_forward(Context& context, const HeadsForward& args) {
  const Checks check(context, "heads_forward");
  const Heads h{args.x, args.row, args.norm, args.rotary};
  check_heads(check, "x", h);
  const bool normed = args.norm.scope != QkNorm::None;
  check.that(normed || args.rotary.cosines, "neither a norm nor a rotation");
  check.that(normed || !args.y, "y {} without a norm, where x is rotated in place", args.y);
  if (normed) check_like(check, "y", args.y, h);
  const double moved = 2 * bytes_of({args.x}) * (normed ? 1 : share(args.row));
  const double flops = turned(h) * ((normed ? 4 : 0) + (args.rotary.cosines ? 3 : 0));
  dispatch(context,
           {"heads_forward", OperationKind::Memory, flops, moved + bytes_of_rotation(h) + bytes_of_norm(args.norm)},
           args);
}

void head_squares(Context& context, const HeadSquares& args) {
  const Checks check(context, "head_squares");
  check_row(check, "x", args.x, args.row);
  check.matrix("sums", args.sums, args.x.rows(), 2, accumulator_of(args.x.dtype()));
  const double read = share(args.row);
  dispatch(context,
           {"head_squares", OperationKind::Memory, 2 * static_cast<double>(args.x.elements()) * read,
            bytes_of({args.x}) * read + bytes_of({args.sums})},
           args);
}

void heads_backward(Context& context, const HeadsBackward& args) {
  const Checks check(context, "heads_backward");
  const Heads h{args.d, args.row, args.norm, args.rotary};
  check_heads(check, "d", h);
  const bool normed = args.norm.scope != QkNorm::None;
  check.that(normed || args.rotary.cosines, "neither a norm nor a rotation");
  if (normed) check_like(check, "x", args.x, h);
  if (args.norm.scope == QkNorm::Width) check.matrix("products", args.products, args.d.rows(), 2, h.acc_dtype());
  check_gradient(check, "dquery_gamma", args.dquery_gamma, args.norm.query_gamma, h);
  check_gradient(check, "dkey_gamma", args.dkey_gamma, args.norm.key_gamma, h);
  const double bytes = (2 * bytes_of({args.d}) + bytes_of({args.x})) * share(args.row);
  dispatch(context,
           {"heads_backward", OperationKind::Memory, turned(h) * ((normed ? 9 : 0) + (args.rotary.cosines ? 3 : 0)),
            bytes + bytes_of_rotation(h) + bytes_of_norm(args.norm) +
                bytes_of({args.products, args.dquery_gamma.tensor, args.dkey_gamma.tensor})},
           args);
}

void head_products(Context& context, const HeadProducts& args) {
  const Checks check(context, "head_products");
  const Heads h{args.dy, args.row, args.norm, args.rotary};
  check_heads(check, "dy", h);
  check.that(args.norm.scope == QkNorm::Width, "products of heads that are normed one by one");
  check_like(check, "x", args.x, h);
  check.matrix("sums", args.sums, args.dy.rows(), 2, h.acc_dtype());
  dispatch(context,
           {"head_products", OperationKind::Memory, 6 * turned(h),
            bytes_of({args.dy, args.x}) * share(args.row) + bytes_of_rotation(h) + bytes_of_norm(args.norm) +
                bytes_of({args.sums})},
           args);
}

}  // namespace weft
