#include "kernels/cpu/embed.h"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {
namespace {

constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 64;

// y = dropout(scale * x + position), x or position possibly null (zero), over one row; `sum` is scratch.
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
void clear_where(Accumulate mode, const Tensor& t, int threads) {
  if (!t || mode == Accumulate::Add) return;
  A* data = t.data<A>();
  parallel_for(threads, t.elements(), kElementGrain,
               [=](int64_t begin, int64_t end) { std::fill(data + begin, data + end, A{0}); });
}

// Sorts the rows whose index lies in [first, first + count) by index, then by row: keys hold (index - first, row).
int64_t sort_rows(const Tensor& indices, int64_t first, int64_t count, int64_t* keys) {
  int64_t n = 0;
  const int32_t* index = indices.data<int32_t>();
  for (int64_t row = 0; row < indices.elements(); ++row) {
    const int64_t i = index[row] - first;
    if (i >= 0 && i < count) keys[n++] = i << 32 | row;
  }
  std::sort(keys, keys + n);
  return n;
}

template <class A>
struct TableGradient {
  const Tensor& indices;  // of the rows of dy
  int64_t first;          // the index of the table's row 0
  A scale;
  const Tensor& table;
  Accumulate mode;
};

// table[i] (+)= scale * (the sum of dropout(dy[r]) over the rows r of index i, in the order of the rows). Without
// atomics: each thread owns a range of columns. The work is proportional to the rows (and, to overwrite, the table).
template <class T>
void sum_rows_by_index(const Tensor& dy, const DropoutMask& mask, const TableGradient<Accumulator<T>>& to,
                       const EmbedScratch<Accumulator<T>>& scratch, int threads) {
  using A = Accumulator<T>;
  clear_where<A>(to.mode, to.table, threads);
  const int64_t width = dy.columns(), n = sort_rows(to.indices, to.first, to.table.rows(), scratch.keys);
  parallel_for(threads, width, kColumnGrain, [&](int64_t begin, int64_t end) {
    A *const sum = scratch.rows + begin, *const dropout_scale = scratch.rows + width + begin;
    for (int64_t k = 0; k < n;) {
      const int64_t index = scratch.keys[k] >> 32;
      std::fill_n(sum, end - begin, A{0});
      for (; k < n && scratch.keys[k] >> 32 == index; ++k) {
        const int64_t row = scratch.keys[k] & 0xffffffff;
        const T* from = dy.data<T>() + row * width + begin;
        if (mask.active()) {
          mask.multipliers(row, begin, end - begin, dropout_scale);
          for (int64_t c = 0; c < end - begin; ++c) sum[c] += dropout_scale[c] * element_cast<A>(from[c]);
        } else {
          for (int64_t c = 0; c < end - begin; ++c) sum[c] += element_cast<A>(from[c]);
        }
      }
      A* table = to.table.template data<A>() + index * width + begin;
      for (int64_t c = 0; c < end - begin; ++c) table[c] += to.scale * sum[c];
    }
  });
}

}  // namespace

bool all_below(const Tensor& indices, int64_t end) {
  bool inside = true;
  for (const int32_t i : indices.span<int32_t>()) inside &= i >= 0 && i < end;
  return inside;
}

template <class T>
void embed_forward(const EmbedForward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t width = args.y.columns();
  const int32_t* row_positions = args.positions ? args.row_positions.data<int32_t>() : nullptr;
  for_each_row(args.y.rows(), threads, scratch.rows, width, [&](int64_t row, A* sum) {
    const int64_t token = args.tokens.data<int32_t>()[row] - args.first_token;
    const T* x = token >= 0 && token < args.table.rows() ? args.table.data<T>() + token * width : nullptr;
    const T* position = row_positions ? args.positions.data<T>() + row_positions[row] * width : nullptr;
    combine_row(x, static_cast<A>(args.scale), position, mask, row, width, sum, args.y.data<T>() + row * width);
  });
}

template <class T>
void embed_backward(const EmbedBackward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  if (args.dtable) {
    sum_rows_by_index<T>(args.dy, mask,
                         {.indices = args.tokens,
                          .first = args.first_token,
                          .scale = static_cast<A>(args.scale),
                          .table = args.dtable,
                          .mode = args.dtable_mode},
                         scratch, threads);
  }
  if (args.dpositions) {
    sum_rows_by_index<T>(args.dy, mask, {args.row_positions, 0, A{1}, args.dpositions, args.dpositions_mode}, scratch,
                         threads);
  }
}

template <class T>
void add_positions_forward(const AddPositionsForward& args, const EmbedScratch<Accumulator<T>>& scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t width = args.y.columns();
  const int32_t* row_positions = args.positions ? args.row_positions.data<int32_t>() : nullptr;
  for_each_row(args.y.rows(), threads, scratch.rows, width, [&](int64_t row, A* sum) {
    const T* x = args.x.data<T>() + row * width;
    const T* position = row_positions ? args.positions.data<T>() + row_positions[row] * width : nullptr;
    combine_row(x, static_cast<A>(args.scale), position, mask, row, width, sum, args.y.data<T>() + row * width);
  });
}

template <class T>
void add_positions_backward(const AddPositionsBackward& args, const EmbedScratch<Accumulator<T>>& scratch,
                            int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  if (args.dpositions) {
    sum_rows_by_index<T>(args.dy, mask, {args.row_positions, 0, A{1}, args.dpositions, args.dpositions_mode}, scratch,
                         threads);
  }
  const int64_t rows = args.dy.rows(), width = args.dy.columns();
  const A scale = static_cast<A>(args.scale);
  for_each_row(rows, threads, scratch.rows, width, [&](int64_t row, A* gradient) {
    const T* dy = args.dy.data<T>() + row * width;
    T* dx = args.dx.data<T>() + row * width;
    for (int64_t c = 0; c < width; ++c) gradient[c] = scale * element_cast<A>(dy[c]);
    if (mask.active()) mask.apply(row, gradient, width);
    if (args.dx_mode == Accumulate::Add) {
      for (int64_t c = 0; c < width; ++c) dx[c] = element_cast<T>(element_cast<A>(dx[c]) + gradient[c]);
    } else {
      for (int64_t c = 0; c < width; ++c) dx[c] = element_cast<T>(gradient[c]);
    }
  });
}

template void embed_forward<float>(const EmbedForward&, const EmbedScratch<float>&, int);
template void embed_forward<BFloat16>(const EmbedForward&, const EmbedScratch<float>&, int);
template void embed_forward<double>(const EmbedForward&, const EmbedScratch<double>&, int);
template void embed_backward<float>(const EmbedBackward&, const EmbedScratch<float>&, int);
template void embed_backward<BFloat16>(const EmbedBackward&, const EmbedScratch<float>&, int);
template void embed_backward<double>(const EmbedBackward&, const EmbedScratch<double>&, int);
template void add_positions_forward<float>(const AddPositionsForward&, const EmbedScratch<float>&, int);
template void add_positions_forward<BFloat16>(const AddPositionsForward&, const EmbedScratch<float>&, int);
template void add_positions_forward<double>(const AddPositionsForward&, const EmbedScratch<double>&, int);
template void add_positions_backward<float>(const AddPositionsBackward&, const EmbedScratch<float>&, int);
template void add_positions_backward<BFloat16>(const AddPositionsBackward&, const EmbedScratch<float>&, int);
template void add_positions_backward<double>(const AddPositionsBackward&, const EmbedScratch<double>&, int);

}  // namespace weft::cpu
