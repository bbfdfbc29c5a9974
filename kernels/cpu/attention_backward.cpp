#include "base/parallel_for.h"
#include "kernels/cpu/attention_blocks.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/dropout.h"

namespace weft::cpu {
namespace {

constexpr int64_t kKeyBlock = 64;

// One thread's scratch: a sequence's queries (all query heads of a group) and one block of keys.
template <class A>
struct Pieces {
  int64_t columns;    // head_dim in whole vectors
  int64_t score_row;  // elements from one row of scores (and of transposed keys) to the next
  A *queries, *dout, *dqueries, *log_sum, *delta;
  A *keys, *keys_transposed, *values_transposed, *dkeys, *dvalues;
  A *weights, *dweights, *dropout_scale;
  size_t taken;

  Pieces(const AttentionHeads& heads, Extent extent, Scratch scratch) {
    const int64_t block = padded<A>(std::min(kKeyBlock, extent.keys));
    const int64_t rows = extent.queries * heads.queries;
    columns = padded<A>(heads.head_dim);
    score_row = block + kVecLanes<A>;
    for (A** piece : {&queries, &dout, &dqueries}) *piece = scratch.take<A>(rows * columns);
    for (A** piece : {&log_sum, &delta}) *piece = scratch.take<A>(rows);
    for (A** piece : {&keys, &dkeys, &dvalues}) *piece = scratch.take<A>(block * columns);
    for (A** piece : {&keys_transposed, &values_transposed}) *piece = scratch.take<A>(columns * score_row);
    for (A** piece : {&weights, &dweights}) *piece = scratch.take<A>(kQueryBlock * score_row);
    dropout_scale = scratch.take<A>(block);
    taken = scratch.taken();
  }
};

// One sequence and one key/value head with all of its query heads. Keys in blocks outside, queries in blocks inside:
// key and value gradients of a block are complete when its queries are done; query gradients grow over the blocks.
template <class T>
class BackwardTask {
 public:
  using A = Accumulator<T>;
  BackwardTask(const AttentionBackward& args, const DropoutMask& mask, const Pieces<A>& scratch, int64_t sequence,
               int64_t group)
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
        keys_(args.key_offsets->host[sequence + 1] - key_start_) {}

  void run() {
    for (int64_t q = 0; q < args_.heads.queries; ++q) start(q);
    for (int64_t key = 0; key < keys_; key += kKeyBlock) key_block(key, std::min(kKeyBlock, keys_ - key));
    finish();
  }

 private:
  int64_t head(int64_t query_head) const { return group_ * args_.heads.queries + query_head; }

  // Packs one head's queries and output gradients; delta = rowsum(dout * out), with the dropped weights' share in it.
  void start(int64_t query_head) {
    const int64_t heads = args_.heads.heads(), all_rows = args_.out.rows();
    const int64_t state = query_head * rows_, first = (query_start_ * heads + head(query_head)) * width_;
    const T* out = args_.out.device_data<T>() + first;
    pack_rows<A>(from_.query(query_start_, group_, query_head), from_.query_row(), rows_, width_,
                 static_cast<A>(args_.scale), s_.queries + state * s_.columns, s_.columns);
    pack_rows<A>(args_.dout.device_data<T>() + first, heads * width_, rows_, width_, A{1}, s_.dout + state * s_.columns,
                 s_.columns);
    std::copy_n(args_.log_sum.device_data<A>() + head(query_head) * all_rows + query_start_, rows_, s_.log_sum + state);
    std::fill_n(s_.dqueries + state * s_.columns, rows_ * s_.columns, A{0});
    for (int64_t r = 0; r < rows_; ++r) {
      const A* dout = s_.dout + (state + r) * s_.columns;
      Vec<A> total = {};
      for (int64_t c = 0; c < width_; c += kVecLanes<A>) {
        total += load(dout + c) * load_cast<A>(out + r * heads * width_ + c, width_ - c);
      }
      s_.delta[state + r] = sum_of<A>(total);
    }
  }

  void key_block(int64_t key, int64_t keys) {
    const int64_t row = key_start_ + key;
    pack_rows<A>(from_.key(row, group_), from_.key_row(), keys, width_, A{1}, s_.keys, s_.columns);
    pack_transposed<A>(from_.key(row, group_), from_.key_row(), keys, width_, s_.keys_transposed, s_.score_row);
    pack_transposed<A>(from_.value(row, group_), from_.key_row(), keys, width_, s_.values_transposed, s_.score_row);
    std::fill_n(s_.dkeys, keys * s_.columns, A{0});
    std::fill_n(s_.dvalues, keys * s_.columns, A{0});
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      for (int64_t r = 0; r < rows_; r += kQueryBlock) {
        const ScoreBlock block{.query_begin = r,
                               .rows = std::min(kQueryBlock, rows_ - r),
                               .key_begin = key,
                               .keys = keys,
                               .causal = args_.causal};
        if (block.visible(block.rows - 1) > 0) backward_block(block, q, q * rows_ + r);
      }
    }
    unpack_rows(s_.dkeys, A{1}, keys, to_.key(row, group_), to_.key_row());
    unpack_rows(s_.dvalues, A{1}, keys, to_.value(row, group_), to_.key_row());
  }

  // With P the weights, M the dropout multipliers, both recomputed:
  // dV = (P M)^T dout; dS = P (dout V^T M - delta); dQ = scale dS K; dK = dS^T (scale Q).
  void backward_block(const ScoreBlock& block, int64_t query_head, int64_t state) {
    const A* queries = s_.queries + state * s_.columns;
    const A* dout = s_.dout + state * s_.columns;
    block_scores(block, width_, queries, s_.columns, s_.keys_transposed, s_.score_row, s_.weights, s_.score_row);
    block_scores(block, width_, dout, s_.columns, s_.values_transposed, s_.score_row, s_.dweights, s_.score_row);
    for_each_row_piece(block, [&](int64_t first, int64_t rows, int64_t keys) {
      // Beyond the piece's own keys, since add_transposed reads whole tiles of keys.
      const int64_t written = std::min(padded<A>(keys + kTileRows), s_.score_row);
      for (int64_t r = first; r < first + rows; ++r) score_gradients(block, r, query_head, state + r, written);
    });
    add_transposed(block, s_.weights, dout, s_.dvalues);
    add_transposed(block, s_.dweights, queries, s_.dkeys);
    add_weighted(block, s_.columns, s_.dweights, s_.score_row, s_.keys, s_.columns, s_.dqueries + state * s_.columns,
                 s_.columns);
  }

  // weights: scores -> P M; dweights: dout V^T -> dS; both 0 from the last visible key up to `written`.
  void score_gradients(const ScoreBlock& block, int64_t r, int64_t query_head, int64_t state, int64_t written) const {
    A* weights = s_.weights + r * s_.score_row;
    A* dweights = s_.dweights + r * s_.score_row;
    const int64_t visible = block.visible(r), whole = padded<A>(visible);
    const A log_sum = s_.log_sum[state], delta = s_.delta[state];
    if (mask_.active()) {
      mask_.multipliers(query_start_ + block.query_begin + r, block.key_begin, whole, s_.dropout_scale,
                        static_cast<uint32_t>(args_.first_head + head(query_head)));
    }
    for (int64_t j = 0; j < whole; j += kVecLanes<A>) {
      Vec<A> weight = exp_lanes<A>(load(weights + j) - log_sum);
      if (j + kVecLanes < A >> visible) weight = first_lanes<A>(weight, visible - j);
      Vec<A> dropped = weight, gradient = load(dweights + j);
      if (mask_.active()) dropped *= load(s_.dropout_scale + j), gradient *= load(s_.dropout_scale + j);
      store<A>(weights + j, dropped);
      store<A>(dweights + j, weight * (gradient - delta));
    }
    clear_row(weights, whole, written);
    clear_row(dweights, whole, written);
  }

  // sums[j] += weights^T rows, over the rows that see key j, or nearly.
  void add_transposed(const ScoreBlock& block, const A* weights, const A* rows, A* sums) const {
    const auto add = [&](int64_t key, int64_t keys, int64_t first) {
      if (first >= block.rows) return;
      tile_product<A>({.m = keys,
                       .n = s_.columns,
                       .k = block.rows - first,
                       .a = weights + first * s_.score_row + key,
                       .a_row = 1,
                       .a_column = s_.score_row,
                       .b = rows + first * s_.columns,
                       .b_row = s_.columns,
                       .c = sums + key * s_.columns,
                       .c_row = s_.columns,
                       .add = true});
    };
    if (block.full()) return add(0, block.keys, 0);
    for (int64_t key = 0; key < block.keys; key += kTileRows) {
      const int64_t first = std::max<int64_t>(0, block.key_begin + key - block.query_begin);
      add(key, std::min<int64_t>(kTileRows, block.keys - key), first);
    }
  }

  void finish() {
    for (int64_t q = 0; q < args_.heads.queries; ++q) {
      unpack_rows(s_.dqueries + q * rows_ * s_.columns, static_cast<A>(args_.scale), rows_,
                  to_.query(query_start_, group_, q), to_.query_row());
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
  const Pieces<A>& s_;
  int64_t width_, group_, query_start_, key_start_, rows_, keys_;
};

template <class T>
size_t scratch_of_worker(const AttentionBackward& args) {
  return Pieces<Accumulator<T>>(args.heads, extent_of(args), {}).taken;
}

template <class T>
void run_tasks(const AttentionBackward& args, Scratch scratch, int threads) {
  const DropoutMask mask(args.dropout);
  const int64_t sequences = args.query_offsets->sequences();
  const int64_t groups = args.heads.kv_heads;
  const Extent extent = extent_of(args);
  const size_t each = scratch_of_worker<T>(args);
  parallel_workers(threads, sequences * groups, [&](int64_t task, int worker) {
    const Pieces<Accumulator<T>> mine(args.heads, extent, scratch.part(worker, each));
    BackwardTask<T>(args, mask, mine, task / groups, task % groups).run();
  });
}

}  // namespace

size_t CpuBackend::workspace(const AttentionBackward& args) const {
  return with_float_type(args.out.dtype(),
                         [&]<class T>() { return static_cast<size_t>(threads_) * scratch_of_worker<T>(args); });
}

void CpuBackend::run(const AttentionBackward& args, Scratch scratch) {
  with_float_type(args.out.dtype(), [&]<class T>() { run_tasks<T>(args, scratch, threads_); });
}

}  // namespace weft::cpu
