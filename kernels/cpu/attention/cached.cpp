// SPDX-License-Identifier: Apache-2.0
#include "base/parallel_for.h"
#include "kernels/cpu/attention/blocks.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

constexpr int64_t kKeyBlock = kForwardKeyBlock;

template <class A>
struct CachedScratch {
  int64_t columns, score_row;
  A *queries, *sums, *values, *scores;
  RunningSoftmax<A>* softmax;
  size_t taken;

  CachedScratch(const AttentionHeads& heads, Scratch scratch) {
    columns = padded<A>(heads.head_dim);
    score_row = kKeyBlock + kVecLanes<A>;  // a row's whole vectors begin at any key
    const int64_t rows = kQueryBlock * heads.queries;
    queries = scratch.take<A>(rows * columns);
    sums = scratch.take<A>(rows * columns);
    values = scratch.take<A>(kKeyBlock * columns);
    scores = scratch.take<A>(kQueryBlock * score_row);
    softmax = reinterpret_cast<RunningSoftmax<A>*>(scratch.take<A>(2 * rows));
    taken = scratch.taken();
  }
};

// scores[j] = query . key[j] for `keys` keys, widened to whole vectors. A key's score is summed over head_dim in
// vectors, then over lanes by transposing: one order, whatever the number of keys or rows. The keys are read once, from
// the cache itself.
template <class A, class T>
void row_scores(const A* query, int64_t width, const T* key, int64_t key_row, int64_t keys, A* scores) {
  constexpr int64_t kLanes = kVecLanes<A>;
  for (int64_t j = 0; j < keys; j += kLanes) {
    const int64_t count = std::min(kLanes, keys - j);
    VecSquare<A> partial = {};
    for (int64_t i = 0; i < count; ++i) {
      const T* k = key + (j + i) * key_row;
      Vec<A> sum = {};
      for (int64_t c = 0; c < width; c += kLanes) sum += load(query + c) * load_cast<A>(k + c, width - c);
      partial[i] = sum;
    }
    transpose<A>(partial);
    Vec<A> total = {};
    for (int64_t i = 0; i < kLanes; ++i) total += partial[i];
    store(scores + j, total);
  }
}

// Up to kQueryBlock new rows of one cache slot, with all query heads of a group.
template <class T>
class CachedAttentionTile {
 public:
  using A = Accumulator<T>;
  CachedAttentionTile(const CachedAttention& args, const CachedScratch<A>& scratch, int64_t sequence, int64_t group,
                      int64_t chunk)
      : args_(args),
        s_(scratch),
        width_(args.heads.head_dim),
        group_(group),
        row_(args.query_offsets->host[sequence] + chunk * kQueryBlock),
        rows_(std::min<int64_t>(kQueryBlock, args.query_offsets->host[sequence + 1] - row_)),
        position_(args.rows->past[sequence] + chunk * kQueryBlock),
        band_(formulas::Band::of(static_cast<bool>(args.qkv), args.window)),
        keys_(args.qkv ? position_ + rows_ : args.rows->past[sequence]),
        key_row_(args.heads.kv_heads * 2 * width_),
        keys_at_(args.cache.device_data<T>() + args.rows->slots[sequence] * args.cache.size(1) * key_row_ +
                 group * 2 * width_) {}

  void run() {
    if (rows_ <= 0) return;
    const HeadRows<const T> from(args_.qkv, args_.q, {}, args_.heads);
    const int64_t state = args_.heads.queries * rows_;
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      pack_rows<A>(from.query(row_, group_, q), from.query_row(), rows_, width_, static_cast<A>(args_.scale),
                   s_.queries + q * rows_ * s_.columns, s_.columns);
    }
    std::fill_n(s_.sums, state * s_.columns, A{0});
    std::fill_n(s_.softmax, state, RunningSoftmax<A>{});
    for (int64_t key = band_.first(position_) / kKeyBlock * kKeyBlock; key < keys_; key += kKeyBlock) {
      key_block(key, std::min(kKeyBlock, keys_ - key));
    }
    finish();
  }

 private:
  void key_block(int64_t key, int64_t keys) {
    const T* at = keys_at_ + key % args_.cache.size(1) * key_row_;  // a ring holds whole blocks
    const A* values = nullptr;
    int64_t value_row = s_.columns;
    if constexpr (std::is_same_v<A, T>) {
      if (s_.columns == width_) values = at + width_, value_row = key_row_;
    }
    if (!values) {
      pack_rows<A>(at + width_, key_row_, keys, width_, A{1}, s_.values, s_.columns);
      values = s_.values;
    }
    const ScoreBlock block{.query_begin = position_, .rows = rows_, .key_begin = key, .keys = keys, .band = band_};
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      const int64_t state = q * rows_;
      for (int64_t r = 0; r < rows_; ++r) weights(at, block.seen(r), r, state + r);
      add_weighted(block, s_.columns, s_.scores, s_.score_row, values, value_row, s_.sums + state * s_.columns,
                   s_.columns);
    }
  }

  void weights(const T* keys, Range seen, int64_t r, int64_t state) const {
    if (seen.size() == 0) return;
    A* scores = s_.scores + r * s_.score_row + seen.begin;
    row_scores(s_.queries + state * s_.columns, width_, keys + seen.begin * key_row_, key_row_, seen.size(), scores);
    const A rescale = online_softmax_update(s_.softmax[state], scores, seen.size());
    if (rescale != A{1}) scale_row(s_.sums + state * s_.columns, rescale, s_.columns);
  }

  void finish() const {
    const int64_t heads = args_.heads.heads();
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      for (int64_t r = 0; r < rows_; ++r) {
        const A inverse = formulas::inverse_sum(s_.softmax[q * rows_ + r].sum);
        const A* sums = s_.sums + (q * rows_ + r) * s_.columns;
        unpack_row(sums, inverse, width_,
                   args_.out.device_data<T>() + ((row_ + r) * heads + group_ * args_.heads.queries + q) * width_);
      }
    }
  }

  const CachedAttention& args_;
  const CachedScratch<A>& s_;
  int64_t width_, group_, row_, rows_, position_;
  formulas::Band band_;
  int64_t keys_, key_row_;
  const T* keys_at_;
};

// Appends the new rows' keys and values to their slots.
template <class T>
void append_to_cache(const CachedAttention& args, int threads) {
  const HeadRows<const T> from(args.qkv, {}, {}, args.heads);
  const int64_t sequences = args.query_offsets->sequences();
  const int64_t pair = 2 * args.heads.head_dim, groups = args.heads.kv_heads;
  parallel_for(threads, sequences, 16, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t capacity = args.cache.size(1);
      T* const slot = args.cache.device_data<T>() + args.rows->slots[s] * capacity * groups * pair;
      int64_t position = args.rows->past[s];
      for (int64_t row = args.query_offsets->host[s]; row < args.query_offsets->host[s + 1]; ++row, ++position) {
        T* const to = slot + position % capacity * groups * pair;
        for (int64_t g = 0; g < groups; ++g) std::copy_n(from.key(row, g), pair, to + g * pair);
      }
    }
  });
}

template <class T>
size_t scratch_of_worker(const CachedAttention& args) {
  return CachedScratch<Accumulator<T>>(args.heads, {}).taken;
}

template <class T>
void cached_attention(const CachedAttention& args, Scratch scratch, int threads) {
  if (args.qkv) append_to_cache<T>(args, threads);
  const int64_t sequences = args.query_offsets->sequences();
  const int64_t chunks = (args.query_offsets->longest + kQueryBlock - 1) / kQueryBlock;
  const int64_t groups = args.heads.kv_heads;
  const size_t each = scratch_of_worker<T>(args);
  parallel_workers(threads, chunks * sequences * groups, [&](int64_t task, int worker) {
    const CachedScratch<Accumulator<T>> mine(args.heads, scratch.part(worker, each));
    CachedAttentionTile<T>(args, mine, task / groups % sequences, task % groups, chunks - 1 - task / groups / sequences)
        .run();
  });
}

}  // namespace

template <>
size_t CpuBackend::workspace(const CachedAttention& args) const {
  return with_float_type(args.out.dtype(),
                         [&]<class T>() { return static_cast<size_t>(threads_) * scratch_of_worker<T>(args); });
}

template <>
void CpuBackend::run(const CachedAttention& args, Scratch scratch) {
  with_float_type(args.out.dtype(), [&]<class T>() { cached_attention<T>(args, scratch, threads_); });
}

}  // namespace weft::cpu
