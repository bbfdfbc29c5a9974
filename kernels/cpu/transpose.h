// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/cpu/vec.h"

namespace weft::cpu {

template <class A>
using VecSquare = std::array<Vec<A>, kVecLanes<A>>;

namespace transpose_detail {

template <class A, int First, int... I>
inline Vec<A> interleave(Vec<A> a, Vec<A> b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + I / 2 + I % 2 * static_cast<int>(kVecLanes<A>))...);
}

// Written as pack expansions, not loops, so that the square stays in registers.
template <class A, int... I>
inline void round(VecSquare<A>& rows, std::integer_sequence<int, I...>) {
  constexpr int kHalf = sizeof...(I);
  constexpr auto kLane = std::make_integer_sequence<int, 2 * kHalf>{};
  VecSquare<A> next;
  ((next[2 * I] = interleave<A, 0>(rows[I], rows[I + kHalf], kLane),
    next[2 * I + 1] = interleave<A, kHalf>(rows[I], rows[I + kHalf], kLane)),
   ...);
  ((rows[2 * I] = next[2 * I], rows[2 * I + 1] = next[2 * I + 1]), ...);
}

}  // namespace transpose_detail

// Transposes a square of vectors: every round interleaves row i with row i + half, and log2(lanes) rounds do it.
template <class A>
inline void transpose(VecSquare<A>& rows) {
  constexpr auto kHalf = std::make_integer_sequence<int, static_cast<int>(kVecLanes<A>) / 2>{};
  transpose_detail::round<A>(rows, kHalf);
  if constexpr (kVecLanes<A> >= 4) transpose_detail::round<A>(rows, kHalf);
  if constexpr (kVecLanes<A> >= 8) transpose_detail::round<A>(rows, kHalf);
  if constexpr (kVecLanes<A> >= 16) transpose_detail::round<A>(rows, kHalf);
}

// to[i][c] = scale from[i][c], rows of `columns` widened to whole vectors with zeros.
template <class A, class T>
void pack_rows(const T* from, int64_t from_row, int64_t rows, int64_t columns, A scale, A* to, int64_t to_row) {
  constexpr int64_t kLanes = kVecLanes<A>;
  const int64_t whole = columns / kLanes * kLanes;
  for (int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
    for (int64_t c = 0; c < whole; c += kLanes) store<A>(to + c, scale * load_cast<A>(from + c));
    if (whole < columns) store<A>(to + whole, scale * load_cast<A>(from + whole, columns - whole));
  }
}

// to[c] = scale from[c]; from is padded to whole vectors, to is not.
template <class A, class T>
inline void unpack_row(const A* from, A scale, int64_t columns, T* to) {
  constexpr int64_t kLanes = kVecLanes<A>;
  for (int64_t c = 0; c < columns; c += kLanes) {
    store_cast<A>(to + c, scale * load(from + c), std::min(kLanes, columns - c));
  }
}

// to[c][i] = from[i][c], the columns i of `to` widened to whole vectors with zeros.
template <class A, class T>
void pack_transposed(const T* from, int64_t from_row, int64_t rows, int64_t columns, A* to, int64_t to_row) {
  constexpr int64_t kLanes = kVecLanes<A>;
  for (int64_t i = 0; i < rows; i += kLanes) {
    for (int64_t c = 0; c < columns; c += kLanes) {
      const int64_t height = std::min(kLanes, rows - i), width = std::min(kLanes, columns - c);
      VecSquare<A> square = {};
      for (int64_t r = 0; r < height; ++r) square[r] = load_cast<A>(from + (i + r) * from_row + c, width);
      transpose<A>(square);
      for (int64_t r = 0; r < width; ++r) store(to + (c + r) * to_row + i, square[r]);
    }
  }
}

}  // namespace weft::cpu
