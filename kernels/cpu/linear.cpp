#include "kernels/cpu/linear.h"

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/reduction.h"

namespace weft::cpu {
namespace {

int64_t row_grain(int64_t columns) { return kElementGrain / std::max<int64_t>(columns, 1) + 1; }

// y = dropout(act(pre)); pre and y may be the same memory.
template <class T>
void activate_rows(const LinearForward& args, const T* pre, T* y, int threads) {
  const int64_t columns = args.y.columns();
  const DropoutMask mask(args.dropout);
  parallel_for(threads, args.y.rows(), row_grain(columns), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      activate(args.activation, pre + r * columns, y + r * columns, columns);
      if (mask.active()) mask.apply(r, y + r * columns, columns);
    }
  });
}

// out = d act'(pre)
template <class T>
void scale_by_slope(Activation activation, const T* d, const T* pre, T* out, int64_t n) {
  using Acc = Accumulator<T>;
  with_activation(activation, [&]<Activation A>() {
    for (int64_t i = 0; i < n; ++i) {
      out[i] = element_cast<T>(element_cast<Acc>(d[i]) * activation_slope<A>(element_cast<Acc>(pre[i])));
    }
  });
}

// dpre = dropout'(dy) act'(pre), and its column sums on the way while a row is in cache.
template <class T>
void gradient_before_activation(const LinearBackward& args, T* dpre, Accumulator<T>* partial, int threads) {
  const int64_t columns = args.dy.columns();
  const DropoutMask mask(args.dropout);
  const bool activated = args.activation != Activation::None;
  const T* dy = args.dy.data<T>();
  const T* pre = activated ? args.pre.data<T>() : nullptr;
  const auto rows = [&](int64_t begin, int64_t end, Accumulator<T>* sums) {
    for (int64_t r = begin; r < end; ++r) {
      T* d = dpre + r * columns;
      if (activated) {
        scale_by_slope(args.activation, dy + r * columns, pre + r * columns, d, columns);
      } else {
        std::copy_n(dy + r * columns, columns, d);
      }
      if (mask.active()) mask.apply(r, d, columns);
      for (int64_t c = 0; sums && c < columns; ++c) sums[c] += element_cast<Accumulator<T>>(d[c]);
    }
  };
  if (partial) {
    row_pieces(threads, args.dy.rows(), columns, partial, rows);
  } else {
    parallel_for(threads, args.dy.rows(), row_grain(columns),
                 [&](int64_t begin, int64_t end) { rows(begin, end, nullptr); });
  }
}

Tensor bias_and_activation_gradient(const LinearBackward& args, const Tensor& dpre, const Tensor& partial,
                                    int threads) {
  const bool add = args.dbias_mode == Accumulate::Add;
  if (args.activation == Activation::None && !args.dropout.active()) {
    if (args.dbias) sum_rows(args.dy, args.dbias, add, partial, threads);
    return args.dy;
  }
  with_float_type(args.dy.dtype(), [&]<class T>() {
    using Acc = Accumulator<T>;
    Acc* sums = args.dbias ? partial.data<Acc>() : nullptr;
    gradient_before_activation(args, dpre.data<T>(), sums, threads);
    if (args.dbias) add_pieces(threads, dpre.columns(), sums, args.dbias.data<Acc>(), add);
  });
  return dpre;
}

}  // namespace

void linear_forward(MatmulEngine& engine, const LinearForward& args, const PackedMatrix* packed, int threads) {
  // The activation is always this file's own, kept `pre` or not: a recomputed forward must give the same bits.
  const Tensor& product = args.pre ? args.pre : args.y;
  engine.run({.m = args.x.rows(),
              .n = args.y.columns(),
              .k = args.x.columns(),
              .input = args.x.dtype(),
              .output = args.y.dtype(),
              .a = args.x.raw(),
              .b = args.weight.raw(),
              .transpose_b = true,
              .packed_b = packed,
              .c = product.raw(),
              .bias = args.bias ? args.bias.raw() : nullptr});
  if (args.activation == Activation::None && !args.dropout.active() && !args.pre) return;
  with_float_type(args.y.dtype(),
                  [&]<class T>() { activate_rows(args, product.data<T>(), args.y.data<T>(), threads); });
}

void linear_backward(MatmulEngine& engine, const LinearBackward& args, const Tensor& dpre, const Tensor& partial,
                     int threads) {
  const int64_t rows = args.x.rows(), in = args.x.columns(), out = args.dy.columns();
  const Tensor d = bias_and_activation_gradient(args, dpre, partial, threads);
  if (args.dx) {
    engine.run({.m = rows,
                .n = in,
                .k = out,
                .input = d.dtype(),
                .output = args.dx.dtype(),
                .a = d.raw(),
                .b = args.weight.raw(),
                .c = args.dx.raw(),
                .add = args.dx_mode == Accumulate::Add});
  }
  if (args.dweight) {
    engine.run({.m = out,
                .n = in,
                .k = rows,
                .input = d.dtype(),
                .output = args.dweight.dtype(),
                .a = d.raw(),
                .transpose_a = true,
                .b = args.x.raw(),
                .c = args.dweight.raw(),
                .add = args.dweight_mode == Accumulate::Add});
  }
}

}  // namespace weft::cpu
