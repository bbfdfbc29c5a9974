// SPDX-License-Identifier: Apache-2.0
#include "base/parallel_for.h"
#include "kernels/cpu/attention/blocks.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {
namespace {

constexpr int64_t kKeyBlock = kForwardKeyBlock;
constexpr int64_t kChunk = 4 * kQueryBlock;  // query rows of a tile, which share the packing of keys and values

// One thread's scratch: the state of a tile's rows (all query heads of a group), and one block of keys.
template <class A>
struct ForwardScratch {
  int64_t columns;    // head_dim in whole vectors
  int64_t score_row;  // elements from one row of scores (and of transposed keys) to the next
  A *queries, *sums, *keys, *values, *scores, *dropout_scale;
  RunningSoftmax<A>* softmax;
  size_t taken;

  ForwardScratch(const AttentionHeads& heads, Extent extent, Scratch scratch) {
    const int64_t block = padded<A>(std::min(kKeyBlock, extent.keys));
    const int64_t chunk = std::min(kChunk, extent.queries) * heads.queries;
    columns = padded<A>(heads.head_dim);
    score_row = block + kVecLanes<A>;
    queries = scratch.take<A>(chunk * columns);
    sums = scratch.take<A>(chunk * columns);
    keys = scratch.take<A>(columns * score_row);
    values = scratch.take<A>(block * columns);
    scores = scratch.take<A>(kQueryBlock * score_row);
    dropout_scale = scratch.take<A>(block);
    static_assert(sizeof(RunningSoftmax<A>) == 2 * sizeof(A));
    softmax = reinterpret_cast<RunningSoftmax<A>*>(scratch.take<A>(2 * chunk));
    taken = scratch.taken();
  }
};

// Consecutive queries of one sequence with all query heads of a group, against the sequence's keys in blocks.
template <class T>
class AttentionForwardTile {
 public:
  using A = Accumulator<T>;
  AttentionForwardTile(const AttentionForward& args, const HeadRows<const T>& from, const DropoutMask& mask,
                       const ForwardScratch<A>& scratch, int64_t sequence, int64_t group, int64_t chunk)
      : args_(args),
        from_(from),
        mask_(mask),
        s_(scratch),
        group_(group),
        query_start_(args.query_offsets->host[sequence]),
        key_start_(args.key_offsets->host[sequence]),
        keys_(args.key_offsets->host[sequence + 1] - key_start_),
        band_(formulas::Band::of(args.causal, args.window)),
        begin_(chunk * kChunk),
        rows_(std::min<int64_t>(kChunk, args.query_offsets->host[sequence + 1] - query_start_ - begin_)) {}

  void run() {
    if (rows_ <= 0) return;
    start();
    const int64_t end = band_.end(begin_ + rows_ - 1, keys_);
    for (int64_t key = band_.first(begin_) / kKeyBlock * kKeyBlock; key < end; key += kKeyBlock) {
      key_block(key, std::min(kKeyBlock, end - key));
    }
    finish();
  }

 private:
  void start() {
    const int64_t width = args_.heads.head_dim;
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      pack_rows<A>(from_.query(query_start_ + begin_, group_, q), from_.query_row(), rows_, width,
                   static_cast<A>(args_.scale), s_.queries + q * rows_ * s_.columns, s_.columns);
    }
    const int64_t state = args_.heads.queries * rows_;
    std::fill_n(s_.sums, state * s_.columns, A{0});
    std::fill_n(s_.softmax, state, RunningSoftmax<A>{});
  }

  void key_block(int64_t key, int64_t keys) {
    const int64_t width = args_.heads.head_dim, row = key_start_ + key;
    pack_transposed<A>(from_.key(row, group_), from_.key_row(), keys, width, s_.keys, s_.score_row);
    pack_rows<A>(from_.value(row, group_), from_.key_row(), keys, width, A{1}, s_.values, s_.columns);
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      for (int64_t r = 0; r < rows_; r += kQueryBlock) {
        const ScoreBlock block{.query_begin = begin_ + r,
                               .rows = std::min(kQueryBlock, rows_ - r),
                               .key_begin = key,
                               .keys = keys,
                               .band = band_};
        if (!block.empty()) attend(block, q, q * rows_ + r);
      }
    }
  }

  void attend(const ScoreBlock& block, int64_t query_head, int64_t state) {
    A* sums = s_.sums + state * s_.columns;
    block_scores(block, args_.heads.head_dim, s_.queries + state * s_.columns, s_.columns, s_.keys, s_.score_row,
                 s_.scores, s_.score_row);
    for (int64_t r = 0; r < block.rows; ++r) {
      const Range seen = block.seen(r);
      if (seen.size() == 0) continue;
      A* scores = s_.scores + r * s_.score_row + seen.begin;
      const A rescale = online_softmax_update(s_.softmax[state + r], scores, seen.size());
      if (rescale != A{1}) scale_row(sums + r * s_.columns, rescale, s_.columns);
      if (mask_.active()) drop(block, r, query_head, seen, scores);
    }
    add_weighted(block, s_.columns, s_.scores, s_.score_row, s_.values, s_.columns, sums, s_.columns);
  }

  void drop(const ScoreBlock& block, int64_t r, int64_t query_head, Range seen, A* weights) const {
    const int64_t head = args_.first_head + group_ * args_.heads.queries + query_head, whole = padded<A>(seen.size());
    mask_.multipliers(query_start_ + block.query_begin + r, block.key_begin + seen.begin, whole, s_.dropout_scale,
                      static_cast<uint32_t>(head));
    multiply_row(weights, s_.dropout_scale, whole);
  }

  void finish() {
    const int64_t width = args_.heads.head_dim, heads = args_.heads.heads();
    T* out = args_.out.device_data<T>();
    A* log_sum = args_.log_sum.device_data<A>();
    const int64_t all_rows = args_.out.rows();
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      const int64_t head = group_ * args_.heads.queries + q;
      for (int64_t r = 0; r < rows_; ++r) {
        const int64_t row = query_start_ + begin_ + r;
        const RunningSoftmax<A>& softmax = s_.softmax[q * rows_ + r];
        const A* sums = s_.sums + (q * rows_ + r) * s_.columns;
        unpack_row(sums, formulas::inverse_sum(softmax.sum), width, out + (row * heads + head) * width);
        log_sum[head * all_rows + row] = softmax.max + std::log(softmax.sum);
      }
    }
  }

  const AttentionForward& args_;
  const HeadRows<const T>& from_;
  const DropoutMask& mask_;
  const ForwardScratch<A>& s_;
  int64_t group_, query_start_, key_start_, keys_;
  formulas::Band band_;
  int64_t begin_, rows_;
};

template <class T>
size_t scratch_of_worker(const AttentionForward& args) {
  return ForwardScratch<Accumulator<T>>(args.heads, extent_of(args), {}).taken;
}

template <class T>
void attention_forward(const AttentionForward& args, Scratch scratch, int threads) {
  const HeadRows<const T> from(args.qkv, args.q, args.kv, args.heads);
  const DropoutMask mask(args.dropout);
  const int64_t sequences = args.query_offsets->sequences();
  const Extent extent = extent_of(args);
  const int64_t chunks = (extent.queries + kChunk - 1) / kChunk;
  const int64_t groups = args.heads.kv_heads;
  const size_t each = scratch_of_worker<T>(args);
  // The last chunks of a causal sequence see the most keys: they go first, so that threads end together.
  parallel_workers(threads, chunks * sequences * groups, [&](int64_t task, int worker) {
    const ForwardScratch<Accumulator<T>> mine(args.heads, extent, scratch.part(worker, each));
    AttentionForwardTile<T>(args, from, mask, mine, task / groups % sequences, task % groups,
                            chunks - 1 - task / groups / sequences)
        .run();
  });
}

}  // namespace

template <>
size_t CpuBackend::workspace(const AttentionForward& args) const {
  return with_float_type(args.out.dtype(),
                         [&]<class T>() { return static_cast<size_t>(threads_) * scratch_of_worker<T>(args); });
}

template <>
void CpuBackend::run(const AttentionForward& args, Scratch scratch) {
  with_float_type(args.out.dtype(), [&]<class T>() { attention_forward<T>(args, scratch, threads_); });
}

}  // namespace weft::cpu
