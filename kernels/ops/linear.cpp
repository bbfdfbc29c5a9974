// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/linear.h"

#include "kernels/backend/dispatch.h"
#include "kernels/backend/gemm.h"
#include "kernels/checks.h"

namespace weft {
namespace {

// The number of rows of a product. Unlike Tensor::rows(), it is not 0 if there are no columns.
int64_t leading(const Tensor& t) {
  int64_t n = 1;
  for (int d = 0; d + 1 < t.shape().rank(); ++d) n *= t.size(d);
  return n;
}

double product_flops(int64_t rows, int64_t in, int64_t out) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
}

double bytes_written(const Gradient& gradient) {
  return static_cast<double>(gradient.tensor.bytes()) * (gradient.mode == Accumulate::Add ? 2 : 1);
}

OperationPart pass_over(double bytes) { return {.bytes = bytes}; }

// An activation that the product cannot apply reads and writes its result once more.
OperationParts parts_of(const LinearForward& args, int64_t rows, int64_t in, int64_t out, double bytes) {
  OperationParts parts{{{.kind = OperationKind::Product, .m = rows, .n = out, .k = in, .bytes = bytes}, 1}};
  const bool apart = args.activation != Activation::None || args.dropout.active();
  if (apart && !fits_product(args.activation, args.dropout)) ++parts[pass_over(2 * bytes_of({args.y}))];
  return parts;
}

// Both products read dy; column sums read the gradient of their rows again.
OperationParts parts_of(const LinearBackward& args, int64_t rows, int64_t in, int64_t out) {
  OperationParts parts;
  if (args.dx) {
    const bool within = fits_product(args.input_activation, args.input_dropout);
    const double saved = bytes_of({args.input_pre}), dx = bytes_of({args.dx.tensor});
    const double bytes = bytes_of({args.dy, args.weight}) + bytes_written(args.dx) + (within ? saved : 0);
    ++parts[{.kind = OperationKind::Product, .m = rows, .n = in, .k = out, .bytes = bytes}];
    if (!within && has_producer(args)) {
      ++parts[pass_over(2 * dx + saved)];
    } else if (args.input_dbias) {
      ++parts[pass_over(dx)];
    }
  }
  if (args.dbias) ++parts[pass_over(bytes_of({args.dy}))];
  if (args.dweight) {
    const double bytes = bytes_of({args.dy, args.x}) + bytes_written(args.dweight);
    ++parts[{.kind = OperationKind::Product, .m = out, .n = in, .k = rows, .bytes = bytes}];
  }
  return parts;
}

// The format that keeps a weight's values unchanged.
WeightFormat own_format(DType dtype) {
  if (dtype == DType::F64) return WeightFormat::Own;
  return dtype == DType::BF16 ? WeightFormat::Bf16 : WeightFormat::F32;
}

// Checks the arguments about the product that made x.
void check_producer(const Checks& check, const LinearBackward& args, int64_t rows, int64_t in) {
  const DType dtype = args.dy.dtype();
  const bool activated = args.input_activation != Activation::None;
  if (activated) check.matrix("input_pre", args.input_pre, rows, in, dtype);
  if (args.input_dbias) check.vector("input_dbias", args.input_dbias.tensor, in, accumulator_of(dtype));
  check.dropout(args.input_dropout, rows);
  check.that(!has_producer(args) || args.dx, "input_activation, input_dropout and input_dbias need a dx");
}

}  // namespace

PackedWeight pack_weight(Context& context, const Tensor& weight, WeightFormat format) {
  const Checks check(context, "pack_weight");
  check.floating("weight", weight);
  if (format == WeightFormat::Own) format = own_format(weight.dtype());
  check.that((weight.dtype() == DType::F64) == (format == WeightFormat::Own), "{} cannot be packed as {}", weight,
             enum_name(format));
  check.that(weight.elements() > 0, "weight {}", weight);
  PackedLayout packed{.out = leading(weight), .in = weight.columns(), .format = format};
  const size_t bytes = context.backend().packed_bytes(packed.out, packed.in, format);
  packed.data = context.empty({static_cast<int64_t>((bytes + 3) / 4)}, DType::I32);
  dispatch(context, {"pack_weight", OperationKind::Memory, 0, static_cast<double>(weight.bytes() + bytes)},
           PackWeight{weight, format, packed.data});
  return std::make_shared<const PackedLayout>(std::move(packed));
}

void linear_forward(Context& context, const LinearForward& args) {
  const Checks check(context, "linear_forward");
  check.floating("x", args.x);
  check.present("weight", args.weight);
  const DType dtype = args.x.dtype();
  const int64_t rows = leading(args.x), in = args.x.columns(), out = leading(args.weight);
  check.that(in > 0 && out > 0, "x {} times weight {}", args.x, args.weight);
  check.matrix("weight", args.weight, out, in, dtype);
  const bool plain = args.activation == Activation::None && !args.dropout.active() && !args.pre;
  const bool unrounded = plain && args.y && args.y.dtype() == accumulator_of(dtype);
  check.matrix("y", args.y, rows, out, unrounded ? args.y.dtype() : dtype);
  if (args.bias) check.vector("bias", args.bias, out, dtype);
  if (args.pre) check.matrix("pre", args.pre, rows, out, dtype);
  check.dropout(args.dropout, rows);
  if (args.packed) {
    check.that(args.packed->out == out && args.packed->in == in, "packed is [{}, {}], weight {}", args.packed->out,
               args.packed->in, args.weight);
    check.that((args.packed->format == WeightFormat::Own) == (dtype == DType::F64), "packed as {}, x {}",
               enum_name(args.packed->format), args.x);
    check.that(!args.dropout.active() && !args.pre, "packed excludes dropout and pre");
  }
  const Tensor& read = args.packed ? args.packed->data : args.weight;
  const double bytes = bytes_of({args.x, read, args.bias, args.y, args.pre});
  dispatch(context, {"linear_forward", OperationKind::Product, product_flops(rows, in, out), bytes}, args,
           [&] { return parts_of(args, rows, in, out, bytes); });
}

bool has_producer(const LinearBackward& args) {
  return args.input_activation != Activation::None || args.input_dropout.active() || args.input_dbias;
}

void linear_backward(Context& context, const LinearBackward& args) {
  const Checks check(context, "linear_backward");
  check.floating("dy", args.dy);
  check.present("x", args.x);
  check.present("weight", args.weight);
  const DType dtype = args.dy.dtype(), acc_dtype = accumulator_of(dtype);
  const int64_t rows = leading(args.x), in = args.x.columns(), out = leading(args.weight);
  check.that(in > 0 && out > 0, "x {} times weight {}", args.x, args.weight);
  check.matrix("x", args.x, rows, in, dtype);
  check.matrix("weight", args.weight, out, in, dtype);
  check.matrix("dy", args.dy, rows, out, dtype);
  if (args.dx) check.matrix("dx", args.dx.tensor, rows, in, dtype);
  if (args.dweight) check.matrix("dweight", args.dweight.tensor, out, in, acc_dtype);
  if (args.dbias) check.vector("dbias", args.dbias.tensor, out, acc_dtype);
  check_producer(check, args, rows, in);
  const int products = (args.dx ? 1 : 0) + (args.dweight ? 1 : 0);
  dispatch(context,
           {"linear_backward", OperationKind::Product, products * product_flops(rows, in, out),
            bytes_of({args.dy, args.x, args.weight, args.dx.tensor, args.dweight.tensor, args.dbias.tensor,
                      args.input_pre, args.input_dbias.tensor})},
           args, [&] { return parts_of(args, rows, in, out); });
}

}  // namespace weft
