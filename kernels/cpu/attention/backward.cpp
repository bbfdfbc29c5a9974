// SPDX-License-Identifier: Apache-2.0
#include "base/parallel_for.h"
#include "kernels/cpu/attention/blocks.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {
namespace {

constexpr int64_t kKeyBlock = kBackwardKeyBlock;
constexpr int64_t kQueryRun = 4 * kQueryBlock;            // query rows of a tile that makes query gradients alone
constexpr int64_t kKeyRun = 4 * kKeyBlock;                // keys of a tile that makes key and value gradients alone
constexpr size_t kScratchOfWholeTile = size_t{32} << 20;  // the most bytes for a thread that makes both at once

// One thread's scratch: `rows` queries of one head, the gradients of `keys` keys, and one block of keys.
template <class A>
struct BackwardScratch {
  int64_t columns;    // head_dim in whole vectors
  int64_t score_row;  // elements from one row of scores (and of transposed keys) to the next
  int64_t rows;
  A *queries, *dout, *dqueries, *log_sum, *delta;
  A *keys, *keys_transposed, *values_transposed, *dkeys, *dvalues;
  A *weights, *dweights, *dropout_scale;
  size_t taken;

  BackwardScratch(int64_t head_dim, Extent room, Scratch scratch) : rows(room.queries) {
    const int64_t block = padded<A>(std::min(kKeyBlock, room.keys));
    columns = padded<A>(head_dim);
    score_row = block + kVecLanes<A>;
    for (A** piece : {&queries, &dout, &dqueries}) *piece = scratch.take<A>(rows * columns);
    for (A** piece : {&log_sum, &delta}) *piece = scratch.take<A>(rows);
    for (A** piece : {&dkeys, &dvalues}) *piece = scratch.take<A>(room.keys * columns);
    keys = scratch.take<A>(block * columns);
    for (A** piece : {&keys_transposed, &values_transposed}) *piece = scratch.take<A>(columns * score_row);
    for (A** piece : {&weights, &dweights}) *piece = scratch.take<A>(kQueryBlock * score_row);
    dropout_scale = scratch.take<A>(block);
    taken = scratch.taken();
  }
};

// The gradients that a tile makes of one sequence and one key/value head: of some queries, of some keys, or of both.
struct GradientPart {
  Range heads, queries, keys;  // query heads of the group, and positions in the sequence
  bool dqueries = false;
  bool dkeys = false;  // whether to make dkeys and dvalues
};

// Every gradient is one chain of additions: a query's over rising keys, a key's over the query heads and their rising
// rows. So any division of the work gives the same bits.
template <class T>
class AttentionBackwardTile {
 public:
  using A = Accumulator<T>;
  AttentionBackwardTile(const AttentionBackward& args, const DropoutMask& mask, const BackwardScratch<A>& scratch,
                        int64_t sequence, int64_t group)
      : args_(args),
        from_(args.qkv, args.q, args.kv, args.heads),
        to_(args.dqkv, args.dq, args.dkv, args.heads),
        mask_(mask),
        s_(scratch),
        width_(args.heads.head_dim),
        group_(group),
        query_start_(args.query_offsets->host[sequence]),
        key_start_(args.key_offsets->host[sequence]),
        rows_(args.query_offsets->host[sequence + 1] - query_start_),
        keys_(args.key_offsets->host[sequence + 1] - key_start_),
        band_(formulas::Band::of(args.causal, args.window)) {}

  // It takes five products: scores, dP, dV, dK and dQ.
  void all_gradients() {
    run({.heads = {0, args_.heads.queries},
         .queries = {0, rows_},
         .keys = {0, keys_},
         .dqueries = true,
         .dkeys = true});
  }
  // It takes four products: scores, dP, dV and dK.
  void key_gradients(int64_t begin) {
    if (begin >= keys_) return;
    const int64_t end = std::min(begin + kKeyRun, keys_);
    run({.heads = {0, args_.heads.queries},
         .queries = {band_.flipped().first(begin), band_.flipped().end(end - 1, rows_)},
         .keys = {begin, end},
         .dkeys = true});
  }
  // It takes three products: scores, dP and dQ.
  void query_gradients(int64_t query_head, int64_t begin) {
    if (begin >= rows_) return;
    run({.heads = {query_head, query_head + 1},
         .queries = {begin, std::min(begin + kQueryRun, rows_)},
         .keys = {0, keys_},
         .dqueries = true});
  }

 private:
  int64_t head(int64_t query_head) const { return group_ * args_.heads.queries + query_head; }

  void run(const GradientPart& part) {
    const int64_t key_sums = part.dkeys ? part.keys.size() * s_.columns : 0;
    for (A* sums : {s_.dkeys, s_.dvalues}) std::fill_n(sums, key_sums, A{0});
    for (int64_t q = part.heads.begin; q < part.heads.end; ++q) {
      for (int64_t row = part.queries.begin; row < part.queries.end; row += s_.rows) {
        const Range rows{row, std::min(row + s_.rows, part.queries.end)};
        start(q, rows);
        const int64_t end = band_.end(rows.end - 1, part.keys.end);
        for (int64_t key = first_block(part, rows); key < end; key += kKeyBlock) {
          key_block(part, q, rows, {key, std::min(key + kKeyBlock, end)});
        }
        if (!part.dqueries) continue;
        unpack_rows(s_.dqueries, static_cast<A>(args_.scale), rows.size(), to_.query(query_start_ + row, group_, q),
                    to_.query_row());
      }
    }
    if (!part.dkeys) return;
    const int64_t first = key_start_ + part.keys.begin;
    unpack_rows(s_.dkeys, A{1}, part.keys.size(), to_.key(first, group_), to_.key_row());
    unpack_rows(s_.dvalues, A{1}, part.keys.size(), to_.value(first, group_), to_.key_row());
  }

  // Where the first block of the part's keys begins that the rows see.
  int64_t first_block(const GradientPart& part, Range rows) const {
    const int64_t hidden = std::max<int64_t>(0, band_.first(rows.begin) - part.keys.begin);
    return part.keys.begin + hidden / kKeyBlock * kKeyBlock;
  }

  // Packs one head's queries and output gradients; delta = rowsum(dout * out), which accounts for dropped weights.
  void start(int64_t query_head, Range rows) {
    const int64_t heads = args_.heads.heads(), first_row = query_start_ + rows.begin;
    const int64_t first = (first_row * heads + head(query_head)) * width_;
    const T* out = args_.out.device_data<T>() + first;
    pack_rows<A>(from_.query(first_row, group_, query_head), from_.query_row(), rows.size(), width_,
                 static_cast<A>(args_.scale), s_.queries, s_.columns);
    pack_rows<A>(args_.dout.device_data<T>() + first, heads * width_, rows.size(), width_, A{1}, s_.dout, s_.columns);
    std::copy_n(args_.log_sum.device_data<A>() + head(query_head) * args_.out.rows() + first_row, rows.size(),
                s_.log_sum);
    std::fill_n(s_.dqueries, rows.size() * s_.columns, A{0});
    for (int64_t r = 0; r < rows.size(); ++r) {
      const A* dout = s_.dout + r * s_.columns;
      Vec<A> total = {};
      for (int64_t c = 0; c < width_; c += kVecLanes<A>) {
        total += load(dout + c) * load_cast<A>(out + r * heads * width_ + c, width_ - c);
      }
      s_.delta[r] = sum_of<A>(total);
    }
  }

  void key_block(const GradientPart& part, int64_t query_head, Range rows, Range keys) {
    const int64_t row = key_start_ + keys.begin;
    pack_transposed<A>(from_.key(row, group_), from_.key_row(), keys.size(), width_, s_.keys_transposed, s_.score_row);
    pack_transposed<A>(from_.value(row, group_), from_.key_row(), keys.size(), width_, s_.values_transposed,
                       s_.score_row);
    if (part.dqueries) {
      pack_rows<A>(from_.key(row, group_), from_.key_row(), keys.size(), width_, A{1}, s_.keys, s_.columns);
    }
    for (int64_t r = rows.begin; r < rows.end; r += kQueryBlock) {
      const ScoreBlock block{.query_begin = r,
                             .rows = std::min(kQueryBlock, rows.end - r),
                             .key_begin = keys.begin,
                             .keys = keys.size(),
                             .band = band_};
      if (!block.empty()) backward_block(part, block, query_head, r - rows.begin);
    }
  }

  // With P the weights, M the dropout multipliers, both recomputed:
  // dV = (P M)^T dout; dS = P (dout V^T M - delta); dQ = scale dS K; dK = dS^T (scale Q).
  void backward_block(const GradientPart& part, const ScoreBlock& block, int64_t query_head, int64_t first_row) {
    const A* queries = s_.queries + first_row * s_.columns;
    const A* dout = s_.dout + first_row * s_.columns;
    block_scores(block, width_, queries, s_.columns, s_.keys_transposed, s_.score_row, s_.weights, s_.score_row);
    block_scores(block, width_, dout, s_.columns, s_.values_transposed, s_.score_row, s_.dweights, s_.score_row);
    for (int64_t r = 0; r < block.rows; ++r) score_gradients(block, r, query_head, first_row + r);
    if (part.dkeys) {
      const int64_t sums = (block.key_begin - part.keys.begin) * s_.columns;
      add_transposed(block, s_.weights, dout, s_.dvalues + sums);
      add_transposed(block, s_.dweights, queries, s_.dkeys + sums);
    }
    if (part.dqueries) {
      add_weighted(block, s_.columns, s_.dweights, s_.score_row, s_.keys, s_.columns,
                   s_.dqueries + first_row * s_.columns, s_.columns);
    }
  }

  // weights: scores -> P M; dweights: dout V^T -> dS, for the keys that row r sees; nothing reads those of other keys.
  void score_gradients(const ScoreBlock& block, int64_t r, int64_t query_head, int64_t state) const {
    const Range seen = block.seen(r);
    A* weights = s_.weights + r * s_.score_row + seen.begin;
    A* dweights = s_.dweights + r * s_.score_row + seen.begin;
    const int64_t whole = padded<A>(seen.size());
    const A log_sum = s_.log_sum[state], delta = s_.delta[state];
    if (mask_.active()) {
      mask_.multipliers(query_start_ + block.query_begin + r, block.key_begin + seen.begin, whole, s_.dropout_scale,
                        static_cast<uint32_t>(args_.first_head + head(query_head)));
    }
    for (int64_t j = 0; j < whole; j += kVecLanes<A>) {
      const Vec<A> weight = exp_lanes<A>(load(weights + j) - log_sum);
      Vec<A> dropped = weight, gradient = load(dweights + j);
      if (mask_.active()) dropped *= load(s_.dropout_scale + j), gradient *= load(s_.dropout_scale + j);
      store<A>(weights + j, dropped);
      store<A>(dweights + j, weight * (gradient - delta));
    }
  }

  // sums[j] += weights^T rows, over the rows that see key j.
  void add_transposed(const ScoreBlock& block, const A* weights, const A* rows, A* sums) const {
    const auto add = [&](int64_t key, int64_t keys) {
      const int64_t position = block.key_begin + key, end = block.query_begin + block.rows;
      const Range seeing{std::max<int64_t>(0, band_.flipped().first(position) - block.query_begin),
                         band_.flipped().end(position + keys - 1, end) - block.query_begin};
      if (seeing.size() <= 0) return;
      const int64_t ahead = position - (block.query_begin + seeing.begin);  // of the first row, the first key is
      tile_product<A>({.m = keys,
                       .n = s_.columns,
                       .k = seeing.size(),
                       .a = weights + seeing.begin * s_.score_row + key,
                       .a_row = 1,
                       .a_column = s_.score_row,
                       .b = rows + seeing.begin * s_.columns,
                       .b_row = s_.columns,
                       .c = sums + key * s_.columns,
                       .c_row = s_.columns,
                       .add = true,
                       .lead = band_.after - ahead,
                       .seen = ahead + band_.before + 1});
    };
    if (block.full()) return add(0, block.keys);
    for (int64_t key = 0; key < block.keys; key += kTileRows) {
      add(key, std::min<int64_t>(kTileRows, block.keys - key));
    }
  }

  void unpack_rows(const A* sums, A scale, int64_t rows, T* to, int64_t to_row) const {
    for (int64_t r = 0; r < rows; ++r, sums += s_.columns, to += to_row) {
      unpack_row(sums, scale, width_, to);
    }
  }

  const AttentionBackward& args_;
  HeadRows<const T> from_;
  HeadRows<T> to_;
  const DropoutMask& mask_;
  const BackwardScratch<A>& s_;
  int64_t width_, group_, query_start_, key_start_, rows_, keys_;
  formulas::Band band_;
};

// Scratch of a thread whose tiles make all gradients of a sequence and key/value head: it grows with the sequence, not
// with the number of query heads.
template <class T>
size_t scratch_of_whole_tile(const AttentionBackward& args) {
  return BackwardScratch<Accumulator<T>>(args.heads.head_dim, extent_of(args), {}).taken;
}

// Tiles of whole sequences and key/value heads take five products, but the longest may keep one thread busy when the
// others are done, and their scratch grows. Separate tiles for key gradients and query gradients take seven products,
// but are short and small. Since the bits are the same, the number of threads may decide.
template <class T>
bool apart(const AttentionBackward& args, int threads) {
  double longest = 0, total = 0;
  for (int64_t s = 0; s < args.query_offsets->sequences(); ++s) {
    const double pairs =
        static_cast<double>(args.query_offsets->length(s)) * static_cast<double>(args.key_offsets->length(s));
    longest = std::max(longest, pairs);
    total += pairs * static_cast<double>(args.heads.kv_heads);
  }
  return 5 * longest > 7 * total / threads || scratch_of_whole_tile<T>(args) > kScratchOfWholeTile;
}

template <class T>
Extent room_of(const AttentionBackward& args, int threads) {
  const Extent extent = extent_of(args);
  if (!apart<T>(args, threads)) return extent;
  return {std::min(kQueryRun, extent.queries), std::min(kKeyRun, extent.keys)};
}

template <class T>
size_t scratch_of_worker(const AttentionBackward& args, int threads) {
  return BackwardScratch<Accumulator<T>>(args.heads.head_dim, room_of<T>(args, threads), {}).taken;
}

template <class T>
void attention_backward(const AttentionBackward& args, Scratch scratch, int threads) {
  const DropoutMask mask(args.dropout);
  const int64_t groups = args.heads.kv_heads, pairs = args.query_offsets->sequences() * groups;
  const Extent extent = extent_of(args), room = room_of<T>(args, threads);
  const size_t each = scratch_of_worker<T>(args, threads);
  const auto with_task = [&](int64_t pair, int worker, auto&& body) {
    const BackwardScratch<Accumulator<T>> mine(args.heads.head_dim, room, scratch.part(worker, each));
    body(AttentionBackwardTile<T>(args, mask, mine, pair / groups, pair % groups));
  };
  if (!apart<T>(args, threads)) {
    parallel_workers(threads, pairs, [&](int64_t pair, int worker) {
      with_task(pair, worker, [](AttentionBackwardTile<T> task) { task.all_gradients(); });
    });
    return;
  }
  const int64_t key_runs = (extent.keys + kKeyRun - 1) / kKeyRun;
  const int64_t query_runs = (extent.queries + kQueryRun - 1) / kQueryRun;
  const int64_t key_tasks = key_runs * pairs, query_tasks = query_runs * pairs * args.heads.queries;
  // The longest tiles go first, so that threads end together: keys gather from all query heads of the group, the first
  // keys of a causal sequence from the most rows, and its last queries from the most keys.
  parallel_workers(threads, key_tasks + query_tasks, [&](int64_t task, int worker) {
    const int64_t query_task = task - key_tasks;
    with_task(task < key_tasks ? task % pairs : query_task % pairs, worker, [&](AttentionBackwardTile<T> work) {
      if (task < key_tasks) return work.key_gradients(task / pairs * kKeyRun);
      const int64_t run = query_runs - 1 - query_task / pairs / args.heads.queries;
      work.query_gradients(query_task / pairs % args.heads.queries, run * kQueryRun);
    });
  });
}

}  // namespace

template <>
size_t CpuBackend::workspace(const AttentionBackward& args) const {
  return with_float_type(args.out.dtype(), [&]<class T>() {
    return static_cast<size_t>(threads_) * scratch_of_worker<T>(args, threads_);
  });
}

template <>
void CpuBackend::run(const AttentionBackward& args, Scratch scratch) {
  with_float_type(args.out.dtype(), [&]<class T>() { attention_backward<T>(args, scratch, threads_); });
}

}  // namespace weft::cpu
