// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/cpu/vec.h"

namespace weft::cpu {

inline constexpr int64_t kNoEdge = std::numeric_limits<int64_t>::max() / 2;

// Small products on packed scratch, for attention: c[m, n] (+)= a[m, k] b[k, n].
// a is read by broadcasts and has any strides; b and c are rows of whole vectors (columns padded).
// An element of c is one chain of multiply-adds over rising k, whatever the sizes.
// Along the causal mask's edge only a band of a counts: row i takes part in the steps i - lead .. i + seen - 1, and
// elements outside are not multiplied at all, since 0 times an infinity is not 0.
template <class A>
struct TileProduct {
  int64_t m = 0, n = 0, k = 0;  // n: a multiple of kVecLanes<A>
  const A* a = nullptr;
  int64_t a_row = 0, a_column = 1;
  const A* b = nullptr;
  int64_t b_row = 0;
  A* c = nullptr;
  int64_t c_row = 0;
  bool add = false;
  int64_t lead = kNoEdge, seen = kNoEdge;
};

// A tile of c lives in registers: of 32, 6 x 4 hold c, 4 hold b and 1 a broadcast; of 16, 6 x 2, 2 and 1.
inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = kVecBytes == 64 ? 4 : 2;

namespace tile_detail {

template <class A, int Rows, int Vectors>
using Sums = Vec<A>[Rows][Vectors];

// Adds the steps begin .. end - 1 to all rows of the tile.
template <class A, int Rows, int Vectors>
[[gnu::always_inline]] inline void add_steps(const TileProduct<A>& p, int64_t begin, int64_t end,
                                             Sums<A, Rows, Vectors>& sum) {
  const A* a = p.a + begin * p.a_column;
  const A* b = p.b + begin * p.b_row;
  for (int64_t k = begin; k < end; ++k, a += p.a_column, b += p.b_row) {
    Vec<A> row[Vectors];
    for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kVecLanes<A>);
    for (int r = 0; r < Rows; ++r) {
      const A factor = a[r * p.a_row];
      for (int v = 0; v < Vectors; ++v) sum[r][v] += factor * row[v];
    }
  }
}

// Adds each of the steps begin .. end - 1 to the rows that take part in it.
template <class A, int Rows, int Vectors>
void add_edge_steps(const TileProduct<A>& p, int64_t begin, int64_t end, Sums<A, Rows, Vectors>& sum) {
  for (int r = 0; r < Rows; ++r) {
    const A* a = p.a + r * p.a_row;
    const int64_t first = std::max(begin, r - p.lead), last = std::min(end, r + p.seen);
    for (int64_t k = first; k < last; ++k) {
      for (int v = 0; v < Vectors; ++v) sum[r][v] += a[k * p.a_column] * load(p.b + k * p.b_row + v * kVecLanes<A>);
    }
  }
}

template <class A, int Rows, int Vectors, bool Edge>
void tile(const TileProduct<A>& p) {
  constexpr int64_t kLanes = kVecLanes<A>;
  Sums<A, Rows, Vectors> sum;
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sum[r][v] = p.add ? load(p.c + r * p.c_row + v * kLanes) : Vec<A>{};
  }
  if constexpr (Edge) {
    const int64_t all_begin = std::clamp<int64_t>(Rows - 1 - p.lead, 0, p.k);
    const int64_t all_end = std::clamp(p.seen, all_begin, p.k);
    add_edge_steps<A, Rows, Vectors>(p, 0, all_begin, sum);
    add_steps<A, Rows, Vectors>(p, all_begin, all_end, sum);
    add_edge_steps<A, Rows, Vectors>(p, all_end, p.k, sum);
  } else {
    add_steps<A, Rows, Vectors>(p, 0, p.k, sum);
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) store(p.c + r * p.c_row + v * kLanes, sum[r][v]);
  }
}

template <class A>
using TileFunction = void (*)(const TileProduct<A>&);

// [rows - 1][vectors - 1]
template <class A, bool Edge>
inline constexpr auto kTiles = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<TileFunction<A>, kTileRows * kTileVectors>{
      &tile<A, I / kTileVectors + 1, I % kTileVectors + 1, Edge>...};
}
(std::make_integer_sequence<int, kTileRows * kTileVectors>{});

}  // namespace tile_detail

template <class A>
void tile_product(const TileProduct<A>& product) {
  using namespace tile_detail;
  constexpr int64_t kWide = kTileVectors * kVecLanes<A>;
  for (int64_t j = 0; j < product.n; j += kWide) {
    const int64_t vectors = std::min(kWide, product.n - j) / kVecLanes<A>;
    TileProduct<A> p = product;
    p.b += j, p.c += j;
    for (int64_t i = 0; i < product.m; i += kTileRows) {
      const int64_t rows = std::min<int64_t>(kTileRows, product.m - i);
      const bool edge = p.lead < rows - 1 || p.seen < p.k;
      (edge ? kTiles<A, true> : kTiles<A, false>)[(rows - 1) * kTileVectors + vectors - 1](p);
      p.a += kTileRows * p.a_row, p.c += kTileRows * p.c_row;
      p.lead -= kTileRows, p.seen += kTileRows;
    }
  }
}

}  // namespace weft::cpu
