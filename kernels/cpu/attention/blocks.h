// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/backend/scratch.h"
#include "kernels/cpu/math.h"
#include "kernels/cpu/tile.h"
#include "kernels/cpu/transpose.h"
#include "kernels/cpu/vec.h"
#include "kernels/formulas/band.h"
#include "kernels/formulas/softmax.h"
#include "kernels/ops/attention.h"

// Shared by forward, backward and cached attention: the places of heads, sizes, and a block of scores.
namespace weft::cpu {

// Rows and keys of a block of scores; rows are a multiple of the tile's. They decide the order of forward's sums, so
// the numerics fingerprint names them.
inline constexpr int64_t kQueryBlock = 48;
inline constexpr int64_t kForwardKeyBlock = 128;  // for forward and cached attention
inline constexpr int64_t kBackwardKeyBlock = 64;

// Where the heads lie in the rows of a packed QKV tensor, or of a Q tensor and a packed KV tensor (either may be absent
// if nothing reads it).
template <class T>
class HeadRows {
 public:
  HeadRows(const Tensor& qkv, const Tensor& q, const Tensor& kv, const AttentionHeads& heads) : width_(heads.head_dim) {
    const int64_t queries = heads.queries * width_;
    if (qkv) {
      query_group_ = key_group_ = queries + 2 * width_;
      query_row_ = key_row_ = heads.kv_heads * query_group_;
      queries_ = qkv.device_data<std::remove_const_t<T>>();
      keys_ = queries_ + queries;
      return;
    }
    query_group_ = queries, key_group_ = 2 * width_;
    query_row_ = heads.kv_heads * query_group_, key_row_ = heads.kv_heads * key_group_;
    if (q) queries_ = q.device_data<std::remove_const_t<T>>();
    if (kv) keys_ = kv.device_data<std::remove_const_t<T>>();
  }
  T* query(int64_t row, int64_t group, int64_t query) const {
    return queries_ + row * query_row_ + group * query_group_ + query * width_;
  }
  T* key(int64_t row, int64_t group) const { return keys_ + row * key_row_ + group * key_group_; }
  T* value(int64_t row, int64_t group) const { return key(row, group) + width_; }
  int64_t query_row() const { return query_row_; }  // elements from one row to the next
  int64_t key_row() const { return key_row_; }

 private:
  int64_t width_, query_row_ = 0, key_row_ = 0, query_group_ = 0, key_group_ = 0;
  T* queries_ = nullptr;
  T* keys_ = nullptr;
};

// The longest sequences of a call: scratch is sized for them.
struct Extent {
  int64_t queries = 0, keys = 0;
};

template <class Args>
Extent extent_of(const Args& args) {
  return {args.query_offsets->longest, args.key_offsets->longest};
}

struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// One block of scores: `rows` queries from position query_begin on, `keys` keys from position key_begin on.
struct ScoreBlock {
  int64_t query_begin = 0, rows = 0;
  int64_t key_begin = 0, keys = 0;
  formulas::Band band;
  // Which of the block's keys row r sees. Neither end falls from one row to the next.
  Range seen(int64_t r) const {
    const int64_t query = query_begin + r;
    const int64_t begin = std::clamp<int64_t>(band.first(query) - key_begin, 0, keys);
    return {begin, std::clamp<int64_t>(band.end(query, key_begin + keys) - key_begin, begin, keys)};
  }
  bool full() const { return seen(0).end == keys && seen(rows - 1).begin == 0; }
  bool empty() const { return seen(0).begin >= seen(rows - 1).end; }
};

// Calls body(first_row, rows, keys) for pieces of a block's rows that see about the same keys: whole blocks away from
// the band's edges, tiles of rows along them, so that little is computed behind the mask. `keys` are those that some
// row of the piece sees, at least one.
template <class Body>
void for_each_row_piece(const ScoreBlock& block, Body&& body) {
  if (block.full()) return body(int64_t{0}, block.rows, Range{0, block.keys});
  for (int64_t r = 0; r < block.rows; r += kTileRows) {
    const int64_t rows = std::min<int64_t>(kTileRows, block.rows - r);
    const Range keys{block.seen(r).begin, block.seen(r + rows - 1).end};
    if (keys.size() > 0) body(r, rows, keys);
  }
}

// scores[r][j] = query[r] . key[j], for the keys that each piece of rows sees, widened to whole vectors.
template <class A>
void block_scores(const ScoreBlock& block, int64_t width, const A* queries, int64_t query_row, const A* keys_transposed,
                  int64_t key_row, A* scores, int64_t score_row) {
  for_each_row_piece(block, [&](int64_t r, int64_t rows, Range keys) {
    const int64_t first = keys.begin / kVecLanes<A> * kVecLanes<A>;
    tile_product<A>({.m = rows,
                     .n = padded<A>(keys.end - first),
                     .k = width,
                     .a = queries + r * query_row,
                     .a_row = query_row,
                     .b = keys_transposed + first,
                     .b_row = key_row,
                     .c = scores + r * score_row + first,
                     .c_row = score_row});
  });
}

// sums[r] += weights[r] . values over the keys that row r sees; columns are whole vectors.
template <class A>
void add_weighted(const ScoreBlock& block, int64_t columns, const A* weights, int64_t weight_row, const A* values,
                  int64_t value_row, A* sums, int64_t sum_row) {
  for_each_row_piece(block, [&](int64_t r, int64_t rows, Range keys) {
    const int64_t ahead = block.query_begin + r - (block.key_begin + keys.begin);  // of the first key, the first row is
    tile_product<A>({.m = rows,
                     .n = columns,
                     .k = keys.size(),
                     .a = weights + r * weight_row + keys.begin,
                     .a_row = weight_row,
                     .b = values + keys.begin * value_row,
                     .b_row = value_row,
                     .c = sums + r * sum_row,
                     .c_row = sum_row,
                     .add = true,
                     .lead = block.band.before - ahead,
                     .seen = ahead + block.band.after + 1});
  });
}

// The softmax of a row that arrives in blocks: sum holds exp(score - max) over the keys seen so far.
template <class A>
struct RunningSoftmax {
  A max = -std::numeric_limits<A>::infinity();
  A sum = 0;
};

template <class A>
inline Vec<A> exp_lanes(Vec<A> v) {
  return each_lane<A>(v, [](A x) { return exp(x); });
}

// Turns a row's scores into exp(score - max), for the visible > 0 keys that it sees, from scores[0] on; nothing reads
// those that follow. Returns the factor for the sums over earlier blocks, since the maximum may have grown.
template <class A>
A online_softmax_update(RunningSoftmax<A>& state, A* scores, int64_t visible) {
  constexpr int64_t kLanes = kVecLanes<A>;
  const int64_t whole = visible / kLanes * kLanes, rest = visible - whole;
  Vec<A> most = Vec<A>{} + state.max;
  for (int64_t j = 0; j < whole; j += kLanes) {
    const Vec<A> s = load(scores + j);
    most = most < s ? s : most;
  }
  if (rest > 0) {
    const Vec<A> s = first_lanes<A>(load(scores + whole), rest, most);
    most = most < s ? s : most;
  }
  const A max = max_of<A>(most);
  Vec<A> total = {};
  for (int64_t j = 0; j < whole; j += kLanes) {
    const Vec<A> weight = exp_lanes<A>(load(scores + j) - max);
    store<A>(scores + j, weight);
    total += weight;
  }
  if (rest > 0) {
    const Vec<A> seen = first_lanes<A>(load(scores + whole), rest, Vec<A>{} + max);
    const Vec<A> weight = first_lanes<A>(exp_lanes<A>(seen - max), rest);
    store<A>(scores + whole, weight);
    total += weight;
  }
  const A rescale = state.max == max ? A{1} : exp(state.max - max);
  state.max = max;
  state.sum = state.sum * rescale + sum_of<A>(total);
  return rescale;
}

// x[j] *= factors[j] over whole vectors.
template <class A>
inline void multiply_row(A* x, const A* factors, int64_t n) {
  for (int64_t j = 0; j < n; j += kVecLanes<A>) store<A>(x + j, load(x + j) * load(factors + j));
}

template <class A>
inline void scale_row(A* x, A factor, int64_t n) {
  for (int64_t j = 0; j < n; j += kVecLanes<A>) store<A>(x + j, load(x + j) * factor);
}

}  // namespace weft::cpu
