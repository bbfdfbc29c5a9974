// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/parallel_for.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {
namespace {

// The workspace of each operation of this file: rows of the tensors' width.
template <class A>
A* scratch_rows(int64_t width, int threads, Scratch& scratch) {
  return scratch.take<A>(std::max(2, threads) * width);
}

constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 64;

// y = dropout(scale * x + position) over one row; x and position count as zero if they are null. `sum` is scratch.
template <class T, class A>
void combine_row(const T* x, A scale, const T* position, const DropoutMask& mask, int64_t row, int64_t width, A* sum,
                 T* y) {
  if (x) {
    for (int64_t c = 0; c < width; ++c) sum[c] = scale * element_cast<A>(x[c]);
  } else {
    std::fill_n(sum, width, A{0});
  }
  if (position) {
    for (int64_t c = 0; c < width; ++c) sum[c] += element_cast<A>(position[c]);
  }
  if (mask.active()) mask.apply(row, sum, width);
  for (int64_t c = 0; c < width; ++c) y[c] = element_cast<T>(sum[c]);
}

// Calls body(row, scratch row) for every row, on threads.
template <class A, class Body>
void for_each_row(int64_t rows, int threads, A* scratch, int64_t width, Body&& body) {
  parallel_workers(threads, (rows + kRowGrain - 1) / kRowGrain, [&](int64_t run, int worker) {
    const int64_t end = std::min(rows, (run + 1) * kRowGrain);
    for (int64_t row = run * kRowGrain; row < end; ++row) body(row, scratch + worker * width);
  });
}

template <class A>
void clear_if_overwritten(const Gradient& t, int threads) {
  if (!t || t.mode == Accumulate::Add) return;
  A* data = t.tensor.device_data<A>();
  parallel_for(threads, t.tensor.elements(), kElementGrain,
               [=](int64_t begin, int64_t end) { std::fill(data + begin, data + end, A{0}); });
}

template <class A>
struct TableGradient {
  const int32_t* indices;  // the index of each row of dy
  const int32_t* order;    // the rows of dy, sorted by index
  int64_t first;           // the index of the table's row 0
  A scale;
  const Gradient& table;
};

// table[i] (+)= scale * (the sum of dropout(dy[r]) over the rows r of index i, in the order of the rows). Each thread
// owns a range of columns, so it needs no atomics. The work is proportional to the rows (and, to overwrite, the table).
template <class T>
void sum_rows_by_index(const Tensor& dy, const DropoutMask& mask, const TableGradient<Accumulator<T>>& to,
                       Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  clear_if_overwritten<A>(to.table, threads);
  const int64_t width = dy.columns();
  const auto before = [&](int32_t row, int64_t index) { return to.indices[row] < index; };
  const int32_t* const all = to.order + dy.rows();
  const int32_t* const begin_of = std::lower_bound(to.order, all, to.first, before);
  const int32_t* const end_of = std::lower_bound(begin_of, all, to.first + to.table.tensor.rows(), before);
  parallel_for(threads, width, kColumnGrain, [&](int64_t begin, int64_t end) {
    A *const sum = scratch + begin, *const dropout_scale = scratch + width + begin;
    for (const int32_t* row = begin_of; row < end_of;) {
      const int32_t index = to.indices[*row];
      std::fill_n(sum, end - begin, A{0});
      for (; row < end_of && to.indices[*row] == index; ++row) {
        const T* from = dy.device_data<T>() + *row * width + begin;
        if (mask.active()) {
          mask.multipliers(*row, begin, end - begin, dropout_scale);
          for (int64_t c = 0; c < end - begin; ++c) sum[c] += dropout_scale[c] * element_cast<A>(from[c]);
        } else {
          for (int64_t c = 0; c < end - begin; ++c) sum[c] += element_cast<A>(from[c]);
        }
      }
      A* table = to.table.tensor.template device_data<A>() + (index - to.first) * width + begin;
      for (int64_t c = 0; c < end - begin; ++c) table[c] += to.scale * sum[c];
    }
  });
}

template <class T>
void add_position_gradient(const Tensor& dy, const DropoutMask& mask, const Tensor& row_positions,
                           const Tensor& by_position, const Gradient& dpositions, Accumulator<T>* scratch,
                           int threads) {
  if (!dpositions) return;
  sum_rows_by_index<T>(dy, mask,
                       {.indices = row_positions.device_data<int32_t>(),
                        .order = by_position.device_data<int32_t>(),
                        .first = 0,
                        .scale = Accumulator<T>{1},
                        .table = dpositions},
                       scratch, threads);
}

template <class T>
void embed_forward(const EmbedForward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t width = args.y.columns();
  const int32_t* row_positions = args.positions ? args.row_positions.device_data<int32_t>() : nullptr;
  for_each_row(args.y.rows(), threads, scratch, width, [&](int64_t row, A* sum) {
    const int64_t token = args.tokens.device_data<int32_t>()[row] - args.first_token;
    const T* x = token >= 0 && token < args.table.rows() ? args.table.device_data<T>() + token * width : nullptr;
    const T* position = row_positions ? args.positions.device_data<T>() + row_positions[row] * width : nullptr;
    combine_row(x, static_cast<A>(args.scale), position, mask, row, width, sum, args.y.device_data<T>() + row * width);
  });
}

template <class T>
void embed_backward(const EmbedBackward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  if (args.dtable) {
    sum_rows_by_index<T>(args.dy, mask,
                         {.indices = args.tokens.device_data<int32_t>(),
                          .order = args.by_token.device_data<int32_t>(),
                          .first = args.first_token,
                          .scale = static_cast<A>(args.scale),
                          .table = args.dtable},
                         scratch, threads);
  }
  add_position_gradient<T>(args.dy, mask, args.row_positions, args.by_position, args.dpositions, scratch, threads);
}

template <class T>
void add_positions_forward(const AddPositionsForward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t width = args.y.columns();
  const int32_t* row_positions = args.positions ? args.row_positions.device_data<int32_t>() : nullptr;
  for_each_row(args.y.rows(), threads, scratch, width, [&](int64_t row, A* sum) {
    const T* x = args.x.device_data<T>() + row * width;
    const T* position = row_positions ? args.positions.device_data<T>() + row_positions[row] * width : nullptr;
    combine_row(x, static_cast<A>(args.scale), position, mask, row, width, sum, args.y.device_data<T>() + row * width);
  });
}

template <class T>
void add_positions_backward(const AddPositionsBackward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  add_position_gradient<T>(args.dy, mask, args.row_positions, args.by_position, args.dpositions, scratch, threads);
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  const A scale = static_cast<A>(args.scale);
  for_each_row(rows, threads, scratch, width, [&](int64_t row, A* gradient) {
    const T* dy = args.dy.device_data<T>() + row * width;
    T* dx = args.dx.device_data<T>() + row * width;
    for (int64_t c = 0; c < width; ++c) gradient[c] = scale * element_cast<A>(dy[c]);
    if (mask.active()) mask.apply(row, gradient, width);
    for (int64_t c = 0; c < width; ++c) dx[c] = element_cast<T>(gradient[c]);
  });
}

// y: any tensor of the rows' shape.
size_t embed_workspace(const Tensor& y, int threads) {
  return with_float_type(y.dtype(), [&]<class T>() {
    return scratch_bytes([&](Scratch& s) { scratch_rows<Accumulator<T>>(y.columns(), threads, s); });
  });
}

}  // namespace

template <>
size_t CpuBackend::workspace(const EmbedForward& args) const {
  return embed_workspace(args.y, threads_);
}

template <>
void CpuBackend::run(const EmbedForward& args, Scratch scratch) {
  with_float_type(args.y.dtype(), [&]<class T>() {
    embed_forward<T>(args, scratch_rows<Accumulator<T>>(args.y.columns(), threads_, scratch), threads_);
  });
}

template <>
size_t CpuBackend::workspace(const EmbedBackward& args) const {
  return embed_workspace(args.dy, threads_);
}

template <>
void CpuBackend::run(const EmbedBackward& args, Scratch scratch) {
  with_float_type(args.dy.dtype(), [&]<class T>() {
    embed_backward<T>(args, scratch_rows<Accumulator<T>>(args.dy.columns(), threads_, scratch), threads_);
  });
}

template <>
size_t CpuBackend::workspace(const AddPositionsForward& args) const {
  return embed_workspace(args.y, threads_);
}

template <>
void CpuBackend::run(const AddPositionsForward& args, Scratch scratch) {
  with_float_type(args.y.dtype(), [&]<class T>() {
    add_positions_forward<T>(args, scratch_rows<Accumulator<T>>(args.y.columns(), threads_, scratch), threads_);
  });
}

template <>
size_t CpuBackend::workspace(const AddPositionsBackward& args) const {
  return embed_workspace(args.dy, threads_);
}

template <>
void CpuBackend::run(const AddPositionsBackward& args, Scratch scratch) {
  with_float_type(args.dy.dtype(), [&]<class T>() {
    add_positions_backward<T>(args, scratch_rows<Accumulator<T>>(args.dy.columns(), threads_, scratch), threads_);
  });
}

}  // namespace weft::cpu
