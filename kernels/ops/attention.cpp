// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/attention.h"

#include <algorithm>

#include "kernels/backend/dispatch.h"
#include "kernels/checks.h"
#include "kernels/formulas/band.h"

namespace weft {
namespace {

void check_offsets(const Checks& check, const char* what, const SharedOffsets& offsets, const Tensor& rows) {
  check.that(offsets != nullptr, "{} offsets are absent", what);
  check.that(offsets->rows() == rows.size(0), "{} offsets end at {}, the tensor is {}", what, offsets->rows(), rows);
}

void check_heads(const Checks& check, const AttentionHeads& h) {
  check.that(h.kv_heads > 0 && h.queries > 0 && h.head_dim > 0, "kv_heads {}, queries {}, head_dim {} must be positive",
             h.kv_heads, h.queries, h.head_dim);
}

// Requires t to be [rows, columns] of a floating dtype, with any number of rows.
void check_rows(const Checks& check, const char* what, const Tensor& t, int64_t columns) {
  check.floating(what, t);
  check.that(t.shape().rank() == 2 && t.size(1) == columns, "{} is {}, expected [rows, {}]", what, t, columns);
}

void check_window(const Checks& check, bool self, int64_t window) {
  check.that(window >= 0, "window {}", window);
  check.that(self || window == 0, "cross-attention cannot have a window");
}

// The checks that forward and backward share. Returns the query rows' tensor.
template <class Args>
const Tensor& check_common(const Checks& check, const Args& args) {
  const AttentionHeads& h = args.heads;
  check_heads(check, h);
  const bool self = static_cast<bool>(args.qkv);
  check.that(self ? !args.q && !args.kv : args.q && args.kv, "give qkv, or q and kv, not {}, {} and {}", args.qkv,
             args.q, args.kv);
  const Tensor& queries = self ? args.qkv : args.q;
  check_rows(check, self ? "qkv" : "q", queries, (h.heads() + (self ? 2 * h.kv_heads : 0)) * h.head_dim);
  const DType dtype = queries.dtype();
  const int64_t rows = queries.size(0);
  if (!self) check.matrix("kv", args.kv, args.kv.rows(), h.kv_heads * 2 * h.head_dim, dtype);
  check_offsets(check, "query", args.query_offsets, queries);
  check_offsets(check, "key", args.key_offsets, self ? args.qkv : args.kv);
  check.that(args.query_offsets->sequences() == args.key_offsets->sequences(),
             "{} sequences of queries beside {} of keys", args.query_offsets->sequences(),
             args.key_offsets->sequences());
  check.that(!self || args.query_offsets == args.key_offsets,
             "self-attention needs key offsets that are its query offsets");
  check.that(self || !args.causal, "cross-attention cannot be causal");
  check_window(check, self, args.window);
  check.dropout(args.dropout, rows);
  check.that(args.dropout.first_channel == 0, "dropout begins at channel {}; attention's channels are its keys, from 0",
             args.dropout.first_channel);
  check.that(args.first_head >= 0, "first head {}", args.first_head);
  check.matrix("out", args.out, rows, h.heads() * h.head_dim, dtype);
  check.matrix("log_sum", args.log_sum, h.heads(), rows, accumulator_of(dtype));
  return queries;
}

// 1 + 2 + .. + n.
double triangle(int64_t n) {
  const auto steps = static_cast<double>(std::max<int64_t>(0, n));
  return steps * (steps + 1) / 2;
}

// Pairs of a query at a position from `first` to `last` - 1 and one of `keys` keys that it sees. Where the band ends
// before the keys do, and where it begins behind the first key, a triangle is cut off.
double pairs_of(const formulas::Band& band, int64_t first, int64_t last, int64_t keys) {
  const int64_t hidden_behind = keys - band.after - 1, seen_before = band.before + 1;
  return static_cast<double>(last - first) * static_cast<double>(keys) -
         (triangle(hidden_behind - first) - triangle(hidden_behind - last)) -
         (triangle(last - seen_before) - triangle(first - seen_before));
}

// FLOPs of one product over all pairs of a query and a key that it sees. A multiply-add counts as two.
template <class Args>
double product_flops(const Args& args) {
  double pairs = 0;
  for (int64_t s = 0; s < args.query_offsets->sequences(); ++s) {
    pairs += pairs_of(formulas::Band::of(args.causal, args.window), 0, args.query_offsets->length(s),
                      args.key_offsets->length(s));
  }
  return 2 * pairs * static_cast<double>(args.heads.heads() * args.heads.head_dim);
}

// One part for each head of each sequence. Backward reads or writes twice what forward does.
template <class Args>
OperationParts parts_of(const Args& args, bool backward) {
  const AttentionHeads& h = args.heads;
  const Offsets &queries = *args.query_offsets, &keys = *args.key_offsets;
  const auto row = static_cast<double>(h.head_dim) * static_cast<double>(size_of(args.out.dtype()));
  OperationParts parts;
  for (int64_t s = 0; s < queries.sequences(); ++s) {
    const int64_t m = queries.length(s), n = keys.length(s);
    parts[{.kind = OperationKind::Attention,
           .m = m,
           .n = n,
           .k = h.head_dim,
           .bytes = static_cast<double>(m + n) * row * (backward ? 4 : 2),
           .backward = backward,
           .causal = args.causal,
           .window = args.window,
           .for_libraries = args.window == 0 && h.queries == 1 && !args.dropout.active() && queries.one_length() &&
                            keys.one_length()}] += h.heads();
  }
  return parts;
}

void check_cached(const Checks& check, const CachedAttention& args) {
  const AttentionHeads& h = args.heads;
  check_heads(check, h);
  const bool self = static_cast<bool>(args.qkv);
  check.that(self != static_cast<bool>(args.q), "give qkv or q, not {} and {}", args.qkv, args.q);
  const Tensor& queries = self ? args.qkv : args.q;
  check_rows(check, self ? "qkv" : "q", queries, (h.heads() + (self ? 2 * h.kv_heads : 0)) * h.head_dim);
  check_offsets(check, "query", args.query_offsets, queries);
  check.matrix("out", args.out, queries.size(0), h.heads() * h.head_dim, queries.dtype());
  check.matrix("cache", args.cache, args.cache.rows(), h.kv_heads * 2 * h.head_dim, queries.dtype());
  check.that(args.cache.shape().rank() == 3, "cache is {}, expected [slots, capacity, columns]", args.cache);
  check.that(args.rows != nullptr, "cache rows are absent");
  check_window(check, self, args.window);
  const bool ring = args.window > 0 && args.cache.size(1) % kRingBlock == 0;
  const int64_t sequences = args.query_offsets->sequences(), rows = static_cast<int64_t>(args.rows->slots.size());
  check.that(rows == sequences, "{} sequences, but {} rows of the cache", sequences, rows);
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t slot = args.rows->slots[s], past = args.rows->past[s];
    const int64_t appended = self ? args.query_offsets->length(s) : 0;
    const int64_t held = ring ? std::min(past, args.window - 1) : past;
    const bool fits = slot >= 0 && slot < args.cache.size(0) && past >= 0 && held + appended <= args.cache.size(1);
    check.that(fits, "slot {} with {} + {} positions does not fit the cache {}", slot, past, appended, args.cache);
  }
}

double cached_pairs(const CachedAttention& args) {
  const auto band = formulas::Band::of(static_cast<bool>(args.qkv), args.window);
  double pairs = 0;
  for (int64_t s = 0; s < args.query_offsets->sequences(); ++s) {
    const int64_t rows = args.query_offsets->length(s), past = args.rows->past[s];
    pairs += pairs_of(band, past, past + rows, args.qkv ? past + rows : past);
  }
  return pairs;
}

// Positions that the call's rows read from the cache and have not appended themselves.
double positions_read(const CachedAttention& args) {
  const auto band = formulas::Band::of(static_cast<bool>(args.qkv), args.window);
  double positions = 0;
  for (const int32_t past : args.rows->past) positions += past - band.first(past);
  return positions;
}

}  // namespace

void attention_forward(Context& context, const AttentionForward& args) {
  check_common(Checks(context, "attention_forward"), args);
  dispatch(context,
           {"attention_forward", OperationKind::Attention, 2 * product_flops(args),
            bytes_of({args.qkv, args.q, args.kv, args.out, args.log_sum})},
           args, [&] { return parts_of(args, false); });
}

void attention_backward(Context& context, const AttentionBackward& args) {
  const Checks check(context, "attention_backward");
  const DType dtype = check_common(check, args).dtype();
  check.matrix("dout", args.dout, args.out.rows(), args.out.columns(), dtype);
  if (args.qkv) {
    check.matrix("dqkv", args.dqkv, args.qkv.rows(), args.qkv.columns(), dtype);
  } else {
    check.matrix("dq", args.dq, args.q.rows(), args.q.columns(), dtype);
    check.matrix("dkv", args.dkv, args.kv.rows(), args.kv.columns(), dtype);
  }
  // Four products: dV, dP, dQ, dK. Recomputing the scores does not count: it is this algorithm's cost, not the
  // formula's.
  dispatch(context,
           {"attention_backward", OperationKind::Attention, 4 * product_flops(args),
            bytes_of({args.dout, args.out, args.log_sum, args.qkv, args.q, args.kv, args.dqkv, args.dq, args.dkv})},
           args, [&] { return parts_of(args, true); });
}

void cached_attention(Context& context, const CachedAttention& args) {
  check_cached(Checks(context, "cached_attention"), args);
  const auto row_bytes = static_cast<double>(args.cache.size(2)) * static_cast<double>(size_of(args.cache.dtype()));
  dispatch(context,
           {"cached_attention", OperationKind::Attention,
            4 * cached_pairs(args) * static_cast<double>(args.heads.heads() * args.heads.head_dim),
            bytes_of({args.qkv, args.q, args.out}) + positions_read(args) * row_bytes},
           args);
}

}  // namespace weft
