// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/traffic/requested.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/divide_up.h"

namespace weft::test {
namespace {

constexpr int64_t kSector = 32, kWarp = 32;
constexpr int64_t kRowBlock = 16;       // rows of a matrix product
constexpr int64_t kDropoutNumbers = 8;  // bytes that name a row to its dropout

// Products of a warp's 16 rows with a tile: `sixteens` of its 16-row groups, `columns` of its columns. An mma is
// 16 x 8 x 16, with one ldmatrix.x4 for two of them.
void add_products(Requested& to, DType dtype, int64_t sixteens, int64_t columns) {
  if (dtype != DType::BF16) return;  // f32 has no tensor cores here
  to.matrix_products += sixteens * 2 * (columns / 16);
  to.matrix_loads += sixteens * (columns / 16);
}
// The fragments of the warp's own rows.
void add_own_rows(Requested& to, DType dtype, int64_t columns) {
  if (dtype == DType::BF16) to.matrix_loads += columns / 16;
}

// The groups of 16 columns of a tile that hold one of the columns first .. end - 1.
int64_t groups_in(int64_t tile, int64_t columns, int64_t first, int64_t end) {
  int64_t groups = 0;
  for (int64_t g = tile; g < tile + columns; g += 16) groups += g + 16 > first && g < end ? 1 : 0;
  return groups;
}

}  // namespace

Requested& Requested::operator+=(const Requested& other) {
  bytes += other.bytes, matrix_products += other.matrix_products, matrix_loads += other.matrix_loads;
  waits_with_copies_in_flight += other.waits_with_copies_in_flight;
  return *this;
}

int64_t RowRequests::warps() const { return divide_up(std::min(pieces(), kMostRowThreads), kWarp); }

double RowRequests::numbers(int64_t count) const { return static_cast<double>(rows * count * warps() * kSector); }

double RowRequests::numbers_of_pieces(int64_t count) const {
  return static_cast<double>(divide_up(rows * pieces(), kWarp) * count * kSector);
}

namespace {

// Sums up count(heads of a warp), where a head is {row, which of its group}.
double sum_over_warps(const HeadRequests& r,
                      const std::function<size_t(const std::vector<std::pair<int64_t, int64_t>>&)>& count) {
  const int64_t heads = r.groups * r.of_group, of_warp = kWarp / r.lanes;
  double sum = 0;
  for (int64_t first = 0; first < r.rows * heads; first += of_warp) {
    std::vector<std::pair<int64_t, int64_t>> turned;
    for (int64_t i = first; i < std::min(first + of_warp, r.rows * heads); ++i) {
      if (i % r.of_group < 2) turned.emplace_back(i / heads, i % r.of_group);
    }
    sum += static_cast<double>(count(turned));
  }
  return sum;
}

}  // namespace

double HeadRequests::row_warps() const {
  return sum_over_warps(*this, [](const auto& heads) {
    std::set<int64_t> rows;
    for (const auto& [row, kind] : heads) rows.insert(row);
    return rows.size();
  });
}

double HeadRequests::gains() const {
  return sum_over_warps(*this, [](const auto& heads) {
    std::set<int64_t> kinds;
    for (const auto& [row, kind] : heads) kinds.insert(kind);
    return kinds.size();
  });
}

double HeadRequests::warps() const { return static_cast<double>(divide_up(rows * groups * of_group * lanes, kWarp)); }

bool AttentionRequests::of_short() const {
  constexpr int64_t kShort = 64;  // rows of a sequence in the mean
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) <= static_cast<int64_t>(lengths.size()) * kShort;
}

// A tile of queries is read and its results are written once; keys and values up to its last query come in tiles, which
// are copied while the tile before them is worked on. A warp skips tiles, and groups of 16 keys for its sums, that none
// of its rows sees. The parts of a wide head all make the scores.
Requested AttentionRequests::forward_tile(int64_t length, int64_t begin) const {
  const int64_t warps = this->warps(2), keys = row_bytes() <= 256 ? 64 : 16384 / row_bytes();
  const int64_t own = std::min<int64_t>(columns, 128), parts = columns / own;
  const int64_t rows = std::min(warps * kRowBlock, length - begin), end = begin + rows;
  const int64_t start = first_key(begin) / keys * keys, tiles = divide_up(end - start, keys);
  const int64_t fetched = std::min(start + tiles * keys, length) - start;
  Requested all{.bytes = static_cast<double>(element() * (rows * columns + fetched * (columns + own) + rows * own) +
                                             rows * (4 + kDropoutNumbers)),
                .waits_with_copies_in_flight = warps * (tiles - 1)};
  for (int64_t position = begin; position < end; position += kRowBlock) {
    const int64_t seen = std::min(length, position + kRowBlock);
    for (int64_t key = start; key < seen; key += keys) {
      const int64_t groups = groups_in(key, keys, first_key(position), seen);
      if (groups == 0) continue;
      add_own_rows(all, dtype, columns);
      add_products(all, dtype, keys / 16, columns);
      add_products(all, dtype, groups, own);
    }
  }
  Requested whole;
  for (int64_t part = 0; part < parts; ++part) whole += all;
  return whole;
}

// A tile of keys and values, and every tile of queries that sees one of them: scores and their gradients are made
// again, then dV and dK are added to. Of narrow heads, gradients are made for 16 queries at a time, which saves
// registers and asks for the warp's own rows each time.
Requested AttentionRequests::key_gradients(int64_t length, int64_t begin) const {
  const int64_t warps = this->warps(1), other = other_rows(), step = narrow() ? 16 : other;
  const int64_t own = columns <= 128 ? columns : 64, parts = columns / own;
  const int64_t rows = std::min(warps * kRowBlock, length - begin), start = begin / other * other;
  const int64_t stop = end_query(begin + rows - 1, length), tiles = divide_up(stop - start, other);
  const int64_t fetched = std::min(start + tiles * other, length) - start;
  Requested all{.bytes = static_cast<double>(element() * (2 * rows * columns + 2 * fetched * columns + 2 * rows * own) +
                                             fetched * (8 + kDropoutNumbers)),
                .waits_with_copies_in_flight = warps * (tiles - 1)};
  for (int64_t position = begin; position < begin + rows; position += kRowBlock) {
    for (int64_t query = start; query < stop; query += other) {
      const int64_t groups = groups_in(query, other, position, end_query(position + kRowBlock - 1, length));
      if (groups == 0) continue;
      add_own_rows(all, dtype, columns);
      add_products(all, dtype, other / 16, columns);
      for (int64_t taken = 0; taken < (narrow() ? groups : 1); ++taken) {
        add_own_rows(all, dtype, columns);
        add_products(all, dtype, step / 16, columns);
      }
      for (int sum = 0; sum < 2; ++sum) add_products(all, dtype, groups, own);
    }
  }
  Requested whole;
  for (int64_t part = 0; part < parts; ++part) whole += all;
  return whole;
}

// A tile of queries and their gradients, for whose deltas out and dout are read beside it, and the keys and values that
// they see: three products.
Requested AttentionRequests::query_gradients(int64_t length, int64_t begin) const {
  const int64_t warps = this->warps(1), other = other_rows();
  const int64_t own = std::min<int64_t>(columns, 128), parts = columns / own;
  const int64_t rows = std::min(warps * kRowBlock, length - begin), end = begin + rows;
  const int64_t start = first_key(begin) / other * other, tiles = divide_up(end - start, other);
  const int64_t fetched = std::min(start + tiles * other, length) - start;
  Requested all{.bytes = static_cast<double>(element() * (4 * rows * columns + 2 * fetched * columns + rows * own)),
                .waits_with_copies_in_flight = warps * (tiles - 1)};
  for (int64_t position = begin; position < end; position += kRowBlock) {
    const int64_t seen = std::min(length, position + kRowBlock);
    for (int64_t key = start; key < seen; key += other) {
      const int64_t groups = groups_in(key, other, first_key(position), seen);
      if (groups == 0) continue;
      all.bytes += static_cast<double>(kRowBlock * kDropoutNumbers);  // asked for at each tile
      for (int product = 0; product < 2; ++product) {
        add_own_rows(all, dtype, columns);
        add_products(all, dtype, other / 16, columns);
      }
      add_products(all, dtype, groups, own);
    }
  }
  Requested whole;
  for (int64_t part = 0; part < parts; ++part) whole += all;
  return whole;
}

Requested AttentionRequests::forward() const {
  Requested all;
  const int64_t rows = warps(2) * kRowBlock;
  for (int64_t head = 0; head < heads; ++head) {
    for (const int64_t length : lengths) {
      for (int64_t begin = 0; begin < length; begin += rows) all += forward_tile(length, begin);
    }
  }
  return all;
}

Requested AttentionRequests::backward() const {
  Requested all;
  const int64_t rows = warps(1) * kRowBlock;
  for (int64_t head = 0; head < heads; ++head) {
    for (const int64_t length : lengths) {
      all.bytes += static_cast<double>(length * 4);  // the deltas
      for (int64_t begin = 0; begin < length; begin += rows) {
        all += key_gradients(length, begin);
        all += query_gradients(length, begin);
      }
    }
  }
  return all;
}

// Keys start .. end of the cache for a tile of new positions.
Requested CachedRequests::tile(int64_t before, int64_t begin, int64_t start, int64_t end) const {
  const int64_t element = static_cast<int64_t>(size_of(dtype)), keys = row_bytes() <= 256 ? 64 : 16384 / row_bytes();
  const int64_t rows = std::min(warps() * kRowBlock, added - begin);
  Requested one{.bytes = static_cast<double>(element * (rows * columns + (end - start) * (columns + own()))),
                .waits_with_copies_in_flight = warps() * (divide_up(end - start, keys) - 1)};
  for (int64_t row = begin; row < begin + rows; row += kRowBlock) {
    const int64_t seen = std::min(end, before + std::min(row + kRowBlock, added));
    for (int64_t key = start; key < seen; key += keys) {
      const int64_t groups = groups_in(key, keys, first_key(before + row), seen);
      if (groups == 0) continue;
      add_own_rows(one, dtype, columns);
      add_products(one, dtype, keys / 16, columns);
      add_products(one, dtype, groups, own());
    }
  }
  return one;
}

// Few new positions have a block for each chunk of 128 keys, whose sums are joined later; many take all their keys.
Requested CachedRequests::all() const {
  constexpr int64_t kChunk = 128, kFew = 64;
  const bool apart = static_cast<int64_t>(past.size()) * added <= kFew;
  const int64_t element = static_cast<int64_t>(size_of(dtype)), parts = columns / own();
  Requested sum;
  for (const int64_t before : past) {
    sum.bytes += static_cast<double>(added * heads * 4 * row_bytes());
    for (int64_t begin = 0; begin < added; begin += warps() * kRowBlock) {
      const int64_t rows = std::min(warps() * kRowBlock, added - begin), keys = before + begin + rows;
      const int64_t first = first_key(before + (apart ? 0 : begin)) / kChunk * kChunk;
      const int64_t chunk = apart ? kChunk : keys - first, chunks = divide_up(keys - first, chunk);
      for (int64_t block = 0; block < heads * parts * chunks; ++block) {
        const int64_t start = first + block % chunks * chunk;
        sum += tile(before, begin, start, std::min(keys, start + chunk));
      }
      for (int64_t position = before + begin; position < before + begin + rows; ++position) {
        const int64_t of_row = position / kChunk - first_key(position) / kChunk + 1;
        // Chunks' sums are written and read in f32.
        sum.bytes += static_cast<double>(heads * columns * (element + (apart && of_row > 1 ? 2 * 4 * of_row : 0)));
      }
    }
  }
  return sum;
}

}  // namespace weft::test
