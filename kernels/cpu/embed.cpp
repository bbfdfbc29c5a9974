#include "kernels/cpu/embed.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/dropout.h"
#include "kernels/cpu/parallel_for.h"

namespace weft::cpu {
namespace {

constexpr int64_t kRowGrain = 16;
// Gradients of tables are summed without atomics and in the order of the rows: each thread owns a range of columns.
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

template <class A>
void add_scaled_row(const A* x, A scale, A* to, int64_t n) {
  for (int64_t c = 0; c < n; ++c) to[c] += scale * x[c];
}

// Calls body(row, begin, columns, gradient) for every row, in order, on each thread's range of columns: gradient is
// the row's dy behind the dropout.
template <class T, class Body>
void for_each_gradient(const Tensor& dy, const Dropout& dropout, Accumulator<T>* scratch, int threads, Body&& body) {
  using A = Accumulator<T>;
  const DropoutMask mask(dropout);
  const int64_t rows = dy.rows(), width = dy.columns();
  parallel_for(threads, width, kColumnGrain, [&](int64_t begin, int64_t end) {
    A* gradient = scratch + begin;
    A* kept = scratch + width + begin;
    for (int64_t row = 0; row < rows; ++row) {
      const T* from = dy.data<T>() + row * width + begin;
      for (int64_t c = 0; c < end - begin; ++c) gradient[c] = element_cast<A>(from[c]);
      if (mask.active()) {
        mask.multipliers(row, begin, end - begin, kept);
        for (int64_t c = 0; c < end - begin; ++c) gradient[c] *= kept[c];
      }
      body(row, begin, end - begin, gradient);
    }
  });
}

template <class A>
void clear_where(Accumulate mode, const Tensor& t, int threads) {
  if (!t || mode == Accumulate::Add) return;
  A* data = t.data<A>();
  parallel_for(threads, t.elements(), kElementGrain,
               [=](int64_t begin, int64_t end) { std::fill(data + begin, data + end, A{0}); });
}

}  // namespace

bool all_below(const Tensor& indices, int64_t end) {
  bool inside = true;
  for (const int32_t i : indices.span<int32_t>()) inside &= i >= 0 && i < end;
  return inside;
}

int64_t embed_scratch(int64_t width, int threads) { return std::max<int64_t>(2, threads) * width; }

template <class T>
void embed_forward(const EmbedForward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t rows = args.y.rows(), width = args.y.columns(), vocabulary = args.table.rows();
  const int32_t* tokens = args.tokens.data<int32_t>();
  const int32_t* row_positions = args.positions ? args.row_positions.data<int32_t>() : nullptr;
  const int64_t pieces = std::clamp<int64_t>(rows / kRowGrain, 1, threads);
  parallel_for(threads, pieces, 1, [&](int64_t first, int64_t last) {
    A* sum = scratch + first * width;
    for (int64_t row = rows * first / pieces; row < rows * last / pieces; ++row) {
      const int64_t token = tokens[row] - args.first_token;
      const T* x = token >= 0 && token < vocabulary ? args.table.data<T>() + token * width : nullptr;
      const T* position = row_positions ? args.positions.data<T>() + row_positions[row] * width : nullptr;
      combine_row(x, static_cast<A>(args.scale), position, mask, row, width, sum, args.y.data<T>() + row * width);
    }
  });
}

template <class T>
void embed_backward(const EmbedBackward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  clear_where<A>(args.dtable_mode, args.dtable, threads);
  clear_where<A>(args.dpositions_mode, args.dpositions, threads);
  const int64_t width = args.dy.columns(), vocabulary = args.dtable ? args.dtable.rows() : 0;
  const int32_t* tokens = args.tokens.data<int32_t>();
  for_each_gradient<T>(
      args.dy, args.dropout, scratch, threads, [&](int64_t row, int64_t begin, int64_t columns, const A* gradient) {
        const int64_t token = tokens[row] - args.first_token;
        if (token >= 0 && token < vocabulary) {
          add_scaled_row(gradient, static_cast<A>(args.scale), args.dtable.data<A>() + token * width + begin, columns);
        }
        if (!args.dpositions) return;
        const int64_t position = args.row_positions.data<int32_t>()[row];
        add_scaled_row(gradient, A{1}, args.dpositions.data<A>() + position * width + begin, columns);
      });
}

template <class T>
void add_positions_forward(const AddPositionsForward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  const DropoutMask mask(args.dropout);
  const int64_t rows = args.y.rows(), width = args.y.columns();
  const int32_t* row_positions = args.positions ? args.row_positions.data<int32_t>() : nullptr;
  const int64_t pieces = std::clamp<int64_t>(rows / kRowGrain, 1, threads);
  parallel_for(threads, pieces, 1, [&](int64_t first, int64_t last) {
    A* sum = scratch + first * width;
    for (int64_t row = rows * first / pieces; row < rows * last / pieces; ++row) {
      const T* position = row_positions ? args.positions.data<T>() + row_positions[row] * width : nullptr;
      combine_row(args.x.data<T>() + row * width, static_cast<A>(args.scale), position, mask, row, width, sum,
                  args.y.data<T>() + row * width);
    }
  });
}

template <class T>
void add_positions_backward(const AddPositionsBackward& args, Accumulator<T>* scratch, int threads) {
  using A = Accumulator<T>;
  clear_where<A>(args.dpositions_mode, args.dpositions, threads);
  const int64_t width = args.dy.columns();
  const A scale = static_cast<A>(args.scale);
  const bool add = args.dx_mode == Accumulate::Add;
  for_each_gradient<T>(
      args.dy, args.dropout, scratch, threads, [&](int64_t row, int64_t begin, int64_t columns, const A* gradient) {
        if (args.dpositions) {
          const int64_t position = args.row_positions.data<int32_t>()[row];
          add_scaled_row(gradient, A{1}, args.dpositions.data<A>() + position * width + begin, columns);
        }
        T* dx = args.dx.data<T>() + row * width + begin;
        if (add) {
          for (int64_t c = 0; c < columns; ++c) dx[c] = element_cast<T>(element_cast<A>(dx[c]) + scale * gradient[c]);
        } else {
          for (int64_t c = 0; c < columns; ++c) dx[c] = element_cast<T>(scale * gradient[c]);
        }
      });
}

template void embed_forward<float>(const EmbedForward&, float*, int);
template void embed_forward<BFloat16>(const EmbedForward&, float*, int);
template void embed_forward<double>(const EmbedForward&, double*, int);
template void embed_backward<float>(const EmbedBackward&, float*, int);
template void embed_backward<BFloat16>(const EmbedBackward&, float*, int);
template void embed_backward<double>(const EmbedBackward&, double*, int);
template void add_positions_forward<float>(const AddPositionsForward&, float*, int);
template void add_positions_forward<BFloat16>(const AddPositionsForward&, float*, int);
template void add_positions_forward<double>(const AddPositionsForward&, double*, int);
template void add_positions_backward<float>(const AddPositionsBackward&, float*, int);
template void add_positions_backward<BFloat16>(const AddPositionsBackward&, float*, int);
template void add_positions_backward<double>(const AddPositionsBackward&, double*, int);

}  // namespace weft::cpu
