// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/heads.h"

#include <algorithm>

#include "base/parallel_for.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/rows/row_piece.h"
#include "kernels/cpu/rows/row_sum.h"
#include "kernels/cpu/rows/run_sums.h"
#include "kernels/formulas/heads.h"
#include "kernels/formulas/norm.h"

namespace weft::cpu {
namespace {

// Queries, or keys: the heads that share a norm.
enum class Kind : uint8_t { Query, Key };

// Calls body(kind, head of the kind, first column) for the queries and keys of a row.
template <class Body>
void for_heads(const HeadRow& row, Body&& body) {
  for (int64_t group = 0; group < row.groups; ++group) {
    const int64_t first = group * row.of_group() * row.head_dim;
    for (int64_t q = 0; q < row.queries; ++q) body(Kind::Query, group * row.queries + q, first + q * row.head_dim);
    for (int64_t k = 0; k < row.keys; ++k) {
      body(Kind::Key, group * row.keys + k, first + (row.queries + k) * row.head_dim);
    }
  }
}

template <class T>
void copy_values(const HeadRow& row, const T* x, T* y) {
  const int64_t columns = row.of_group() * row.head_dim, first = (row.queries + row.keys) * row.head_dim;
  for (int64_t at = first; at < row.columns(); at += columns) std::copy_n(x + at, columns - first, y + at);
}

// The tables' part of one row.
template <class A>
class Turn {
 public:
  Turn(const Rotary& rotary, int64_t row, int64_t head_dim) : half_(head_dim / 2), form_(rotary.form) {
    if (!rotary.cosines) return;
    const int64_t at = rotary.row_positions.device_data<int32_t>()[row] * half_;
    cosines_ = rotary.cosines.device_data<A>() + at, sines_ = rotary.sines.device_data<A>() + at;
  }
  void forward(A* head) const { turn(head, A{1}); }
  void back(A* head) const { turn(head, A{-1}); }

 private:
  void turn(A* head, A sign) const {
    if (!cosines_) return;
    if (form_ == RotaryForm::Halves) {
      for (int64_t i = 0; i < half_; ++i) formulas::rotate(head[i], head[half_ + i], cosines_[i], sign * sines_[i]);
    } else {
      for (int64_t i = 0; i < half_; ++i) formulas::rotate(head[2 * i], head[2 * i + 1], cosines_[i], sign * sines_[i]);
    }
  }

  int64_t half_;
  RotaryForm form_;
  const A *cosines_ = nullptr, *sines_ = nullptr;
};

template <class T>
void widen(const T* from, int64_t n, Accumulator<T>* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = element_cast<Accumulator<T>>(from[i]);
}
template <class T>
void narrow(const Accumulator<T>* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = element_cast<T>(from[i]);
}

template <class A>
A dot(const A* x, const A* y, int64_t n) {
  return row_sum(x, y, n, [](auto a, auto b) { return a * b; });
}

// What the norm multiplies a head of one row by.
template <class T>
class Scale {
 public:
  using A = Accumulator<T>;
  Scale(const HeadNorm& norm, int64_t row, int64_t head_dim)
      : norm_(norm), dim_(head_dim), squares_(norm.squares ? norm.squares.device_data<A>() + 2 * row : nullptr) {}

  A rstd(Kind kind, const A* x) const {
    const A sum = squares_ ? squares_[static_cast<int>(kind)] : dot(x, x, dim_);
    return formulas::inverse_deviation(sum / count(kind), static_cast<A>(norm_.epsilon));
  }
  // The elements over which a mean is taken.
  A count(Kind kind) const {
    if (norm_.scope == QkNorm::Head) return static_cast<A>(dim_);
    return static_cast<A>(kind == Kind::Query ? norm_.query_features : norm_.key_features);
  }
  void multiply(Kind kind, int64_t head, A* x) const {
    const Tensor& gammas = kind == Kind::Query ? norm_.query_gamma : norm_.key_gamma;
    if (!gammas) return;
    const T* gamma = gammas.device_data<T>() + offset(head);
    for (int64_t i = 0; i < dim_; ++i) x[i] *= element_cast<A>(gamma[i]);
  }
  // Where the head's gammas begin.
  int64_t offset(int64_t head) const { return norm_.scope == QkNorm::Width ? head * dim_ : 0; }

 private:
  const HeadNorm& norm_;
  int64_t dim_;
  const A* squares_;
};

// Some columns of one head.
template <class A>
struct HeadPiece {
  alignas(64) A values[kMostHeadColumns];
};

template <class T>
void forward_row(const HeadsForward& args, int64_t r) {
  using A = Accumulator<T>;
  const int64_t columns = args.row.columns(), dim = args.row.head_dim;
  const bool normed = args.norm.scope != QkNorm::None;
  const T* const x = args.x.device_data<T>() + r * columns;
  T* const y = (normed ? args.y : args.x).device_data<T>() + r * columns;
  const Turn<A> turn(args.rotary, r, dim);
  const Scale<T> scale(args.norm, r, dim);
  HeadPiece<A> head;
  if (normed) copy_values(args.row, x, y);
  for_heads(args.row, [&](Kind kind, int64_t number, int64_t first) {
    widen(x + first, dim, head.values);
    if (normed) {
      const A rstd = scale.rstd(kind, head.values);
      for (int64_t i = 0; i < dim; ++i) head.values[i] *= rstd;
      scale.multiply(kind, number, head.values);
    }
    turn.forward(head.values);
    narrow(head.values, dim, y + first);
  });
}

// g = rotation'(dy) gamma and n = x rstd of one head; before gamma, d = rotation'(dy).
template <class T>
struct HeadGradient {
  using A = Accumulator<T>;
  HeadPiece<A> d, g, n;
  A rstd = 0;

  void read(const Turn<A>& turn, const Scale<T>& scale, int64_t dim, Kind kind, int64_t number, const T* dy,
            const T* x) {
    widen(dy, dim, d.values);
    turn.back(d.values);
    widen(x, dim, n.values);
    rstd = scale.rstd(kind, n.values);
    for (int64_t i = 0; i < dim; ++i) n.values[i] *= rstd;
    std::copy_n(d.values, dim, g.values);
    scale.multiply(kind, number, g.values);
  }
};

// Sums of gammas' gradients over a thread's rows; null where they are not wanted.
template <class A>
struct GammaSums {
  A* of[2];  // by Kind
};

template <class T>
void backward_row(const HeadsBackward& args, int64_t r, const GammaSums<Accumulator<T>>& sums) {
  using A = Accumulator<T>;
  const int64_t columns = args.row.columns(), dim = args.row.head_dim;
  T* const d = args.d.device_data<T>() + r * columns;
  const Turn<A> turn(args.rotary, r, dim);
  if (args.norm.scope == QkNorm::None) {
    HeadPiece<A> head;
    return for_heads(args.row, [&](Kind, int64_t, int64_t first) {
      widen(d + first, dim, head.values);
      turn.back(head.values);
      narrow(head.values, dim, d + first);
    });
  }
  const T* const x = args.x.device_data<T>() + r * columns;
  const A* const products = args.products ? args.products.device_data<A>() + 2 * r : nullptr;
  const Scale<T> scale(args.norm, r, dim);
  HeadGradient<T> head;
  for_heads(args.row, [&](Kind kind, int64_t number, int64_t first) {
    head.read(turn, scale, dim, kind, number, d + first, x + first);
    const A *g = head.g.values, *n = head.n.values;
    if (A* sum = sums.of[static_cast<int>(kind)]) {
      sum += scale.offset(number);
      for (int64_t i = 0; i < dim; ++i) sum[i] += head.d.values[i] * n[i];
    }
    const A along = (products ? products[static_cast<int>(kind)] : dot(g, n, dim)) / scale.count(kind);
    for (int64_t i = 0; i < dim; ++i) {
      d[first + i] = element_cast<T>(formulas::head_norm_gradient(g[i], n[i], head.rstd, along));
    }
  });
}

// The workspace of backward: sums of gammas' gradients over each run of rows, queries' and keys' side by side.
template <class A>
struct HeadsBackwardScratch {
  int64_t queries = 0, keys = 0;
  A* partial = nullptr;

  HeadsBackwardScratch(const HeadsBackward& args, Scratch& scratch) {
    if (args.dquery_gamma) queries = args.dquery_gamma.tensor.elements();
    if (args.dkey_gamma) keys = args.dkey_gamma.tensor.elements();
    if (columns() > 0) partial = scratch.take<A>(runs_of(args.d.rows()) * columns());
  }
  int64_t columns() const { return queries + keys; }
};

template <class T>
void heads_backward(const HeadsBackward& args, const HeadsBackwardScratch<Accumulator<T>>& pieces, int threads) {
  using A = Accumulator<T>;
  const int64_t columns = pieces.columns(), runs = runs_of(args.d.rows());
  for_runs(threads, args.d.rows(), [&](int64_t run, int, int64_t begin, int64_t end) {
    A* const mine = pieces.partial ? pieces.partial + run * columns : nullptr;
    std::fill_n(mine, columns, A{0});
    const GammaSums<A> sums{pieces.queries > 0 ? mine : nullptr, pieces.keys > 0 ? mine + pieces.queries : nullptr};
    for (int64_t r = begin; r < end; ++r) backward_row<T>(args, r, sums);
  });
  if (args.dquery_gamma) add_runs(pieces.partial, runs, columns, args.dquery_gamma);
  if (args.dkey_gamma) add_runs(pieces.partial + pieces.queries, runs, columns, args.dkey_gamma);
}

// sums[r][kind] = the sum of of_head(r, kind, ...) over the heads of a kind.
template <class A, class OfHead>
void sum_heads(const HeadRow& row, const Tensor& sums, int threads, OfHead&& of_head) {
  parallel_for(threads, sums.rows(), row_grain(row.columns()), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      A* const to = sums.device_data<A>() + 2 * r;
      to[0] = to[1] = 0;
      for_heads(row, [&](Kind kind, int64_t number, int64_t first) {
        to[static_cast<int>(kind)] += of_head(r, kind, number, first);
      });
    }
  });
}

}  // namespace

template <>
void CpuBackend::run(const HeadsForward& args) {
  with_float_type(args.x.dtype(), [&]<class T>() {
    parallel_for(threads_, args.x.rows(), row_grain(args.row.columns()), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) forward_row<T>(args, r);
    });
  });
}

template <>
void CpuBackend::run(const HeadSquares& args) {
  const int64_t columns = args.row.columns(), dim = args.row.head_dim;
  with_float_type(args.x.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T* const x = args.x.device_data<T>();
    sum_heads<A>(args.row, args.sums, threads_, [&](int64_t r, Kind, int64_t, int64_t first) {
      HeadPiece<A> head;
      widen(x + r * columns + first, dim, head.values);
      return dot(head.values, head.values, dim);
    });
  });
}

template <>
void CpuBackend::run(const HeadProducts& args) {
  const int64_t columns = args.row.columns(), dim = args.row.head_dim;
  with_float_type(args.dy.dtype(), [&]<class T>() {
    using A = Accumulator<T>;
    const T *const dy = args.dy.device_data<T>(), *const x = args.x.device_data<T>();
    sum_heads<A>(args.row, args.sums, threads_, [&](int64_t r, Kind kind, int64_t number, int64_t first) {
      HeadGradient<T> head;
      const int64_t at = r * columns + first;
      head.read(Turn<A>(args.rotary, r, dim), Scale<T>(args.norm, r, dim), dim, kind, number, dy + at, x + at);
      return dot(head.g.values, head.n.values, dim);
    });
  });
}

template <>
size_t CpuBackend::workspace(const HeadsBackward& args) const {
  return with_float_type(args.d.dtype(), [&]<class T>() {
    return scratch_bytes([&](Scratch& s) { HeadsBackwardScratch<Accumulator<T>>(args, s); });
  });
}

template <>
void CpuBackend::run(const HeadsBackward& args, Scratch scratch) {
  with_float_type(args.d.dtype(), [&]<class T>() {
    heads_backward<T>(args, HeadsBackwardScratch<Accumulator<T>>(args, scratch), threads_);
  });
}

}  // namespace weft::cpu
