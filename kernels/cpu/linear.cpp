#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"
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
  const T* dy = args.dy.device_data<T>();
  const T* pre = activated ? args.pre.device_data<T>() : nullptr;
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

bool changes_gradient(const LinearBackward& args) {
  return args.activation != Activation::None || args.dropout.active();
}

// The gradient before activation and dropout, if they change it, and sums of each thread's rows.
template <class T>
struct BackwardPieces {
  T* dpre = nullptr;
  Accumulator<T>* partial = nullptr;
  BackwardPieces(const LinearBackward& args, int threads, Scratch& scratch) {
    const int64_t out = args.dy.columns();
    if (changes_gradient(args)) dpre = scratch.take<T>(args.dy.rows() * out);
    if (args.dbias) partial = scratch.take<Accumulator<T>>(threads * out);
  }
};

// Returns the gradient of x W^T + b; dbias on the way.
template <class T>
const T* bias_and_activation_gradient(const LinearBackward& args, const BackwardPieces<T>& pieces, int threads) {
  if (!changes_gradient(args)) {
    if (args.dbias) sum_rows<T>({args.dy, args.dbias, args.dbias_mode}, pieces.partial, threads);
    return args.dy.device_data<T>();
  }
  gradient_before_activation(args, pieces.dpre, pieces.partial, threads);
  if (args.dbias) {
    add_pieces(threads, args.dy.columns(), pieces.partial, args.dbias.device_data<Accumulator<T>>(),
               args.dbias_mode == Accumulate::Add);
  }
  return pieces.dpre;
}

}  // namespace

void CpuBackend::run(const LinearForward& args, Scratch) {
  if (args.y.elements() == 0) return;
  // The activation is always this file's own, kept `pre` or not: a recomputed forward must give the same bits.
  const Tensor& product = args.pre ? args.pre : args.y;
  matmul_.run({.m = args.x.rows(),
               .n = args.y.columns(),
               .k = args.x.columns(),
               .input = args.x.dtype(),
               .output = args.y.dtype(),
               .a = args.x.device_raw(),
               .b = args.weight.device_raw(),
               .transpose_b = true,
               .packed_b = static_cast<const PackedMatrix*>(args.packed.get()),
               .c = product.device_raw(),
               .bias = args.bias ? args.bias.device_raw() : nullptr});
  if (args.activation == Activation::None && !args.dropout.active() && !args.pre) return;
  with_float_type(args.y.dtype(),
                  [&]<class T>() { activate_rows(args, product.device_data<T>(), args.y.device_data<T>(), threads_); });
}

size_t CpuBackend::workspace(const LinearBackward& args) const {
  return with_float_type(args.dy.dtype(), [&]<class T>() {
    return scratch_bytes([&](Scratch& s) { BackwardPieces<T>(args, threads_, s); });
  });
}

void CpuBackend::run(const LinearBackward& args, Scratch scratch) {
  const int64_t rows = args.x.rows(), in = args.x.columns(), out = args.dy.columns();
  const DType dtype = args.dy.dtype();
  const void* d = with_float_type(dtype, [&]<class T>() -> const void* {
    return bias_and_activation_gradient<T>(args, BackwardPieces<T>(args, threads_, scratch), threads_);
  });
  if (args.dx) {
    matmul_.run({.m = rows,
                 .n = in,
                 .k = out,
                 .input = dtype,
                 .output = args.dx.dtype(),
                 .a = d,
                 .b = args.weight.device_raw(),
                 .c = args.dx.device_raw(),
                 .add = args.dx_mode == Accumulate::Add});
  }
  if (args.dweight) {
    matmul_.run({.m = out,
                 .n = in,
                 .k = rows,
                 .input = dtype,
                 .output = args.dweight.dtype(),
                 .a = d,
                 .transpose_a = true,
                 .b = args.x.device_raw(),
                 .c = args.dweight.device_raw(),
                 .add = args.dweight_mode == Accumulate::Add});
  }
}

std::shared_ptr<const PackedLayout> CpuBackend::pack(const Tensor& weight) {
  const int64_t in = weight.columns(), out = weight.elements() / std::max<int64_t>(in, 1);
  return matmul_.pack(weight.device_raw(), in, out, weight.dtype(), true);
}

void CpuBackend::run(const Matmul& args, Scratch) {
  matmul_.run({.m = args.c.rows(),
               .n = args.c.columns(),
               .k = args.transpose_a ? args.a.rows() : args.a.columns(),
               .input = args.a.dtype(),
               .output = args.c.dtype(),
               .a = args.a.device_raw(),
               .transpose_a = args.transpose_a,
               .b = args.b.device_raw(),
               .transpose_b = args.transpose_b,
               .c = args.c.device_raw(),
               .add = args.mode == Accumulate::Add});
}

}  // namespace weft::cpu
