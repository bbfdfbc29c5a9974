// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend/gemm.h"
#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/reduction.h"
#include "kernels/cpu/rows/activated_rows.h"

namespace weft::cpu {
namespace {

template <class T>
void activate_rows(const Activate& args, int threads) {
  using A = Accumulator<T>;
  const int64_t columns = args.y.columns();
  const DropoutMask mask(args.dropout);
  const T* const pre = args.pre.device_data<T>();
  T* const y = args.y.device_data<T>();
  for_activated_rows(args.activation, args.y.rows(), columns, threads, [&]<Activation Act>(int64_t r) {
    RowPiece<A> piece;
    A* const values = piece.values();
    RowPiece<A>::for_each(columns, [&](int64_t c, int64_t n) {
      const T* from = pre + r * columns + c;
      T* to = y + r * columns + c;
      for (int64_t i = 0; i < n; ++i) values[i] = activated<Act>(element_cast<A>(from[i]));
      piece.drop(mask, r, c, n);
      for (int64_t i = 0; i < n; ++i) to[i] = element_cast<T>(values[i]);
    });
  });
}

// dx: the gradient of x = dropout(act(pre)), which becomes the gradient of pre in place. Its column sums are taken
// before it is rounded.
template <Activation Act, class T>
void producer_gradient_row(const DropoutMask& mask, int64_t row, int64_t columns, const T* pre, T* dx,
                           Accumulator<T>* sums) {
  using A = Accumulator<T>;
  RowPiece<A> piece;
  A* const values = piece.values();
  RowPiece<A>::for_each(columns, [&](int64_t c, int64_t n) {
    T* const d = dx + c;
    for (int64_t i = 0; i < n; ++i) values[i] = element_cast<A>(d[i]);
    if constexpr (Act != Activation::None) {
      for (int64_t i = 0; i < n; ++i) values[i] *= activation_slope<Act>(element_cast<A>(pre[c + i]));
    }
    piece.drop(mask, row, c, n);
    for (int64_t i = 0; sums && i < n; ++i) sums[c + i] += values[i];
    for (int64_t i = 0; i < n; ++i) d[i] = element_cast<T>(values[i]);
  });
}

template <class T>
void producer_gradient(const LinearBackward& args, Accumulator<T>* partial, int threads) {
  using A = Accumulator<T>;
  const int64_t rows = args.dx.tensor.rows(), columns = args.dx.tensor.columns();
  const DropoutMask mask(args.input_dropout);
  T* const dx = args.dx.tensor.device_data<T>();
  with_activation(args.input_activation, [&]<Activation Act>() {
    const T* const pre = Act == Activation::None ? nullptr : args.input_pre.device_data<T>();
    const auto some_rows = [&](int64_t begin, int64_t end, A* sums) {
      for (int64_t r = begin; r < end; ++r) {
        const T* const row_pre = Act == Activation::None ? nullptr : pre + r * columns;
        producer_gradient_row<Act>(mask, r, columns, row_pre, dx + r * columns, sums);
      }
    };
    if (partial) {
      row_pieces(threads, rows, columns, partial, some_rows);
    } else {
      parallel_for(threads, rows, row_grain(columns),
                   [&](int64_t begin, int64_t end) { some_rows(begin, end, nullptr); });
    }
  });
  if (partial) {
    add_pieces(threads, columns, partial, args.input_dbias.tensor.device_data<A>(),
               args.input_dbias.mode == Accumulate::Add);
  }
}

// The workspace: column sums of each thread's rows.
template <class T>
struct LinearBackwardScratch {
  Accumulator<T>*bias = nullptr, *input_bias = nullptr;
  LinearBackwardScratch(const LinearBackward& args, int threads, Scratch& scratch) {
    if (args.dbias) bias = scratch.take<Accumulator<T>>(threads * args.dy.columns());
    if (args.input_dbias) input_bias = scratch.take<Accumulator<T>>(threads * args.dx.tensor.columns());
  }
};

}  // namespace

template <>
void CpuBackend::run(const Activate& args) {
  with_float_type(args.y.dtype(), [&]<class T>() { activate_rows<T>(args, threads_); });
}

// Rows of bf16 are widened once for all panels.
template <>
size_t CpuBackend::workspace(const LinearForward& args) const {
  return args.packed && args.x.dtype() == DType::BF16 ? static_cast<size_t>(args.x.elements()) * sizeof(float) : 0;
}

template <>
void CpuBackend::run(const LinearForward& args, Scratch scratch) {
  if (args.y.elements() == 0) return;
  if (args.packed) return packed_linear(args, scratch);
  // This file computes the activation with or without `pre`: a recomputed forward must give the same bits.
  const Tensor& product = args.pre ? args.pre : args.y;
  Gemm gemm = forward_gemm(args, product);
  if (args.bias) gemm.bias = args.bias.device_raw();
  matmul_.run(gemm);
  if (args.activation == Activation::None && !args.dropout.active() && !args.pre) return;
  run(Activate{.pre = product, .activation = args.activation, .dropout = args.dropout, .y = args.y});
}

template <>
size_t CpuBackend::workspace(const LinearBackward& args) const {
  return with_float_type(args.dy.dtype(), [&]<class T>() {
    return scratch_bytes([&](Scratch& s) { LinearBackwardScratch<T>(args, threads_, s); });
  });
}

template <>
void CpuBackend::run(const LinearBackward& args, Scratch scratch) {
  if (args.dx) matmul_.run(input_gradient_gemm(args));
  with_float_type(args.dy.dtype(), [&]<class T>() {
    const LinearBackwardScratch<T> pieces(args, threads_, scratch);
    if (has_producer(args)) producer_gradient<T>(args, pieces.input_bias, threads_);
    if (args.dbias) sum_rows<T>({args.dy, args.dbias.tensor, args.dbias.mode}, pieces.bias, threads_);
  });
  if (args.dweight) matmul_.run(weight_gradient_gemm(args));
}

template <>
void CpuBackend::run(const Matmul& args) {
  matmul_.run(gemm_of(args));
}

}  // namespace weft::cpu
