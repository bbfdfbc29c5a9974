// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/parallel_for.h"

// Sums over rows whose bits depend on the number of threads alone: each thread adds its own contiguous rows to a row of
// `partial`, then the rows of `partial` are added in order.
namespace weft::cpu {

inline constexpr int64_t kRowGrain = 8;

// Calls body(begin, end, sums) for pieces of rows; sums [columns] starts at zero. Afterwards the rows of
// partial [threads, columns] hold the sums of all pieces, and zero for threads without a piece.
template <class Acc, class Body>
void row_pieces(int threads, int64_t rows, int64_t columns, Acc* partial, Body&& body) {
  std::fill_n(partial, threads * columns, Acc{0});
  const int64_t pieces = std::clamp<int64_t>(rows / kRowGrain, 1, threads);
  parallel_for(threads, pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) body(rows * p / pieces, rows * (p + 1) / pieces, partial + p * columns);
  });
}

// out (+)= the sum of partial's rows, added as one number, so that adding twice is exactly twice.
template <class Acc>
void add_pieces(int threads, int64_t columns, const Acc* partial, Acc* out, bool add) {
  for (int64_t c = 0; c < columns; ++c) {
    Acc sum{0};
    for (int p = 0; p < threads; ++p) sum += partial[p * columns + c];
    out[c] = add ? out[c] + sum : sum;
  }
}

}  // namespace weft::cpu
