#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/cpu/vec.h"

namespace weft::cpu {

// Small products on packed scratch, for attention: c[m, n] (+)= a[m, k] b[k, n].
// a is read by broadcasts and has any strides; b and c are rows of whole vectors (columns padded).
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
};

// A tile of c lives in registers: 6 x 4 vectors of it, 4 of b and a broadcast in 32 registers; 6 x 2, 2 and one in 16.
inline constexpr int kTileRows = 6;
inline constexpr int kTileVectors = kVecBytes == 64 ? 4 : 2;

namespace tile_detail {

template <class A, int Rows, int Vectors>
void tile(const TileProduct<A>& p) {
  constexpr int64_t kLanes = kVecLanes<A>;
  Vec<A> sum[Rows][Vectors];
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) sum[r][v] = p.add ? load(p.c + r * p.c_row + v * kLanes) : Vec<A>{};
  }
  const A* a = p.a;
  const A* b = p.b;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
    Vec<A> row[Vectors];
    for (int v = 0; v < Vectors; ++v) row[v] = load(b + v * kLanes);
    for (int r = 0; r < Rows; ++r) {
      const A factor = a[r * p.a_row];
      for (int v = 0; v < Vectors; ++v) sum[r][v] += factor * row[v];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int v = 0; v < Vectors; ++v) store(p.c + r * p.c_row + v * kLanes, sum[r][v]);
  }
}

template <class A>
using TileFunction = void (*)(const TileProduct<A>&);

// [rows - 1][vectors - 1]
template <class A>
inline constexpr auto kTiles = []<int... I>(std::integer_sequence<int, I...>) {
  return std::array<TileFunction<A>, kTileRows * kTileVectors>{&tile<A, I / kTileVectors + 1, I % kTileVectors + 1>...};
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
      kTiles<A>[(rows - 1) * kTileVectors + vectors - 1](p);
      p.a += kTileRows * p.a_row, p.c += kTileRows * p.c_row;
    }
  }
}

}  // namespace weft::cpu
