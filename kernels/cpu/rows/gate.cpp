// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rows/activated_rows.h"
#include "kernels/ops/activation.h"

namespace weft::cpu {
namespace {

template <Activation Act, class T>
void gate_row(const DropoutMask& mask, int64_t row, int64_t columns, const T* pre, T* y) {
  using A = Accumulator<T>;
  RowPiece<A> piece;
  A* const values = piece.values();
  RowPiece<A>::for_each(columns, [&](int64_t c, int64_t n) {
    const T *gate = pre + c, *up = gate + columns;
    for (int64_t i = 0; i < n; ++i) values[i] = activated<Act>(element_cast<A>(gate[i])) * element_cast<A>(up[i]);
    piece.drop(mask, row, c, n);
    for (int64_t i = 0; i < n; ++i) y[c + i] = element_cast<T>(values[i]);
  });
}

// dpre may be pre: an element is read before it is written.
template <Activation Act, class T>
void gate_gradient_row(const DropoutMask& mask, int64_t row, int64_t columns, const T* dy, const T* pre, T* dpre) {
  using A = Accumulator<T>;
  RowPiece<A> piece;
  A* const values = piece.values();
  RowPiece<A>::for_each(columns, [&](int64_t c, int64_t n) {
    for (int64_t i = 0; i < n; ++i) values[i] = element_cast<A>(dy[c + i]);
    piece.drop(mask, row, c, n);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const A gate = element_cast<A>(pre[c + i]), up = element_cast<A>(pre[columns + c + i]);
      dpre[c + i] = element_cast<T>(values[i] * up * activation_slope<Act>(gate));
      dpre[columns + c + i] = element_cast<T>(values[i] * activated<Act>(gate));
    }
  });
}

}  // namespace

template <>
void CpuBackend::run(const GateForward& args) {
  const int64_t columns = args.y.columns();
  const DropoutMask mask(args.dropout);
  with_float_type(args.y.dtype(), [&]<class T>() {
    const T* const pre = args.pre.device_data<T>();
    T* const y = args.y.device_data<T>();
    for_activated_rows(args.activation, args.y.rows(), columns, threads_, [&]<Activation Act>(int64_t r) {
      gate_row<Act>(mask, r, columns, pre + r * 2 * columns, y + r * columns);
    });
  });
}

template <>
void CpuBackend::run(const GateBackward& args) {
  const int64_t columns = args.dy.columns();
  const DropoutMask mask(args.dropout);
  with_float_type(args.dy.dtype(), [&]<class T>() {
    const T *const dy = args.dy.device_data<T>(), *const pre = args.pre.device_data<T>();
    T* const dpre = args.dpre.device_data<T>();
    for_activated_rows(args.activation, args.dy.rows(), columns, threads_, [&]<Activation Act>(int64_t r) {
      const int64_t at = r * 2 * columns;
      gate_gradient_row<Act>(mask, r, columns, dy + r * columns, pre + at, dpre + at);
    });
  });
}

}  // namespace weft::cpu
