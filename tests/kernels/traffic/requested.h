// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "kernels/dtype.h"

// What CUDA kernels ask of their device by the tiles that they work in, in formulas that stand beside their code and
// are not made from it: work done twice, a mask whose tiles are no longer skipped, a copy that no longer overlaps are
// differences from them.
namespace weft::test {

struct Requested {
  double bytes = 0;
  // By warps, as Counters has them.
  int64_t matrix_products = 0, matrix_loads = 0, waits_with_copies_in_flight = 0;
  Requested& operator+=(const Requested& other);
};

// A matrix whose rows are worked on by the threads of so many pieces of 16 bytes.
struct RowRequests {
  int64_t rows, width;
  DType dtype;

  double element() const { return static_cast<double>(size_of(dtype)); }
  double matrix() const { return static_cast<double>(rows * width) * element(); }
  // A row that belongs to the columns, such as a bias: every row of the matrix asks for it.
  double line() const { return matrix(); }
  double f32() const { return static_cast<double>(width * 4); }  // a row of sums
  // Whether the threads of a block keep a row.
  bool kept() const { return pieces() <= kMostRowThreads; }
  int64_t warps() const;
  // `count` numbers of each row, for which every warp asks: a sector each. A row has its own warps.
  double numbers(int64_t count) const;
  // The same if pieces are numbered through all rows.
  double numbers_of_pieces(int64_t count) const;
  // Column sums: partial sums of `chunks` chunks are written and read, and the sums that they are added to read and
  // written.
  double sums(int64_t chunks) const { return static_cast<double>(2 * chunks + 2) * f32(); }

 private:
  static constexpr int64_t kMostRowThreads = 448;
  int64_t pieces() const { return width * static_cast<int64_t>(size_of(dtype)) / 16; }
};

// Heads of rows, one behind the other, each of which so many lanes of a warp work on: what a warp asks for together
// counts once. A group has a query head, a key head and perhaps a value head, which neither turns nor has a gain.
struct HeadRequests {
  int64_t rows, groups, of_group, lanes;

  double row_warps() const;  // warps, counted once for each row of which they turn heads
  double gains() const;      // warps, counted once for each kind of gain that they multiply heads by
  double warps() const;      // all
};

// The first key that a causal query sees through a window of so many keys; 0: all.
inline int64_t first_key_of(int64_t query, int64_t window) {
  return window > 0 ? std::max<int64_t>(0, query - window + 1) : 0;
}

// Causal attention of sequences of these lengths, with dropout: `heads` heads of `columns` columns. A query sees the
// last `window` keys; 0: all.
struct AttentionRequests {
  std::span<const int64_t> lengths;
  int64_t heads, columns;
  DType dtype;
  int64_t window = 0;

  Requested forward() const;
  // The three kernels of backward together.
  Requested backward() const;

 private:
  Requested forward_tile(int64_t length, int64_t begin) const;
  Requested key_gradients(int64_t length, int64_t begin) const;
  Requested query_gradients(int64_t length, int64_t begin) const;
  int64_t element() const { return static_cast<int64_t>(size_of(dtype)); }
  int64_t row_bytes() const { return columns * element(); }
  // Sums of narrow heads leave registers to more warps; a block of short sequences has two.
  bool narrow() const { return dtype == DType::BF16 && columns <= 64; }
  bool of_short() const;
  // The first key that a query sees, and where the queries that see a key end.
  int64_t first_key(int64_t query) const { return first_key_of(query, window); }
  int64_t end_query(int64_t key, int64_t length) const { return window > 0 ? std::min(length, key + window) : length; }
  int64_t warps(int64_t of_wide) const { return row_bytes() > 512 ? of_wide : narrow() && of_short() ? 2 : 4; }
  int64_t other_rows() const { return row_bytes() > 256 ? 16 : row_bytes() > 128 || narrow() ? 32 : 64; }
};

// Cached attention of sequences with so many positions before `added` new ones, whose keys and values it appends.
struct CachedRequests {
  std::array<int64_t, 2> past;
  int64_t added, heads, columns;
  DType dtype;
  int64_t window = 0;

  Requested all() const;

 private:
  Requested tile(int64_t before, int64_t begin, int64_t start, int64_t end) const;
  int64_t row_bytes() const { return columns * static_cast<int64_t>(size_of(dtype)); }
  int64_t warps() const { return row_bytes() <= 512 ? 4 : 2; }
  int64_t own() const { return std::min<int64_t>(columns, 128); }
  int64_t first_key(int64_t position) const { return first_key_of(position, window); }
};

}  // namespace weft::test
