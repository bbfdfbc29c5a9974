#include "kernels/attention.h"

#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cpu/attention.h"

namespace weft {
namespace {

// offsets[0] = 0, never falling, ending at the tensor's rows.
void check_offsets(const Checks& check, const char* what, const Offsets* offsets, const Tensor& rows) {
  check.that(offsets && !offsets->empty(), "{} offsets are absent", what);
  const bool ordered = offsets->front() == 0 && std::is_sorted(offsets->begin(), offsets->end());
  check.that(ordered, "{} offsets do not rise from 0", what);
  check.that(offsets->back() == rows.size(0), "{} offsets end at {}, the tensor is {}", what, offsets->back(),
             rows.text());
}

void check_heads(const Checks& check, const AttentionHeads& h) {
  check.that(h.kv_heads > 0 && h.queries > 0 && h.head_dim > 0, "kv_heads {}, queries {}, head_dim {} must be positive",
             h.kv_heads, h.queries, h.head_dim);
}

// [rows, columns] of a floating dtype, any number of rows.
void check_rows(const Checks& check, const char* what, const Tensor& t, int64_t columns) {
  check.floating(what, t);
  check.that(t.shape().rank() == 2 && t.size(1) == columns, "{} is {}, expected [rows, {}]", what, t.text(), columns);
}

// What forward and backward check alike. Returns the query rows' tensor.
template <class Args>
const Tensor& check_common(const Checks& check, const Args& args) {
  const AttentionHeads& h = args.heads;
  check_heads(check, h);
  const bool self = static_cast<bool>(args.qkv);
  check.that(self ? !args.q && !args.kv : args.q && args.kv, "give qkv, or q and kv, not {}, {} and {}",
             args.qkv.text(), args.q.text(), args.kv.text());
  const Tensor& queries = self ? args.qkv : args.q;
  check_rows(check, self ? "qkv" : "q", queries, (h.heads() + (self ? 2 * h.kv_heads : 0)) * h.head_dim);
  const DType dtype = queries.dtype();
  const int64_t rows = queries.size(0);
  if (!self) check.matrix("kv", args.kv, args.kv.rows(), h.kv_heads * 2 * h.head_dim, dtype);
  check_offsets(check, "query", args.query_offsets, queries);
  check_offsets(check, "key", args.key_offsets, self ? args.qkv : args.kv);
  check.that(args.query_offsets->size() == args.key_offsets->size(), "{} query offsets beside {} key offsets",
             args.query_offsets->size(), args.key_offsets->size());
  check.that(!self || *args.query_offsets == *args.key_offsets, "self-attention with different key offsets");
  check.that(self || !args.causal, "causal cross-attention");
  check.dropout(args.dropout, rows);
  check.that(args.first_head >= 0, "first head {}", args.first_head);
  check.matrix("out", args.out, rows, h.heads() * h.head_dim, dtype);
  check.matrix("log_sum", args.log_sum, h.heads(), rows, accumulator_of(dtype));
  return queries;
}

// Multiply-adds of one product over all pairs of a query and a key that it sees, counted as two.
template <class Args>
double product_flops(const Args& args) {
  double pairs = 0;
  for (size_t s = 0; s + 1 < args.query_offsets->size(); ++s) {
    const double queries = (*args.query_offsets)[s + 1] - (*args.query_offsets)[s];
    const double keys = (*args.key_offsets)[s + 1] - (*args.key_offsets)[s];
    pairs += args.causal ? queries * (queries + 1) / 2 : queries * keys;
  }
  return 2 * pairs * static_cast<double>(args.heads.heads() * args.heads.head_dim);
}

// Scratch of all threads, taken from the pool on the dry device too, whose peak it is part of.
Tensor scratch_of(Context& context, int64_t elements, DType dtype) {
  return context.empty({context.threads(), elements}, accumulator_of(dtype));
}

void check_cached(const Checks& check, const CachedAttention& args) {
  const AttentionHeads& h = args.heads;
  check_heads(check, h);
  const bool self = static_cast<bool>(args.qkv);
  check.that(self != static_cast<bool>(args.q), "give qkv or q, not {} and {}", args.qkv.text(), args.q.text());
  const Tensor& queries = self ? args.qkv : args.q;
  check_rows(check, self ? "qkv" : "q", queries, (h.heads() + (self ? 2 * h.kv_heads : 0)) * h.head_dim);
  check_offsets(check, "query", args.query_offsets, queries);
  check.matrix("out", args.out, queries.size(0), h.heads() * h.head_dim, queries.dtype());
  check.matrix("cache", args.cache, args.cache.rows(), h.kv_heads * 2 * h.head_dim, queries.dtype());
  check.that(args.cache.shape().rank() == 3, "cache is {}, expected [slots, capacity, columns]", args.cache.text());
  const size_t sequences = args.query_offsets->size() - 1;
  const size_t slots = args.slots ? args.slots->size() : 0, pasts = args.past ? args.past->size() : 0;
  check.that(slots == sequences && pasts == sequences, "{} sequences, but {} slots and {} pasts", sequences, slots,
             pasts);
  for (size_t s = 0; s < sequences; ++s) {
    const int64_t slot = (*args.slots)[s], past = (*args.past)[s];
    const int64_t appended = self ? (*args.query_offsets)[s + 1] - (*args.query_offsets)[s] : 0;
    const bool fits = slot >= 0 && slot < args.cache.size(0) && past >= 0 && past + appended <= args.cache.size(1);
    check.that(fits, "slot {} with {} + {} positions does not fit the cache {}", slot, past, appended,
               args.cache.text());
  }
}

double cached_pairs(const CachedAttention& args) {
  double pairs = 0;
  for (size_t s = 0; s < args.slots->size(); ++s) {
    const double rows = (*args.query_offsets)[s + 1] - (*args.query_offsets)[s], past = (*args.past)[s];
    pairs += rows * past + (args.qkv ? rows * (rows + 1) / 2 : 0);
  }
  return pairs;
}

}  // namespace

void attention_forward(Context& context, const AttentionForward& args) {
  const Tensor& queries = check_common(Checks(context, "attention_forward"), args);
  const DType dtype = queries.dtype();
  CostScope op(context, "attention_forward", 2 * product_flops(args),
               bytes_of({args.qkv, args.q, args.kv, args.out, args.log_sum}));
  const Tensor scratch = scratch_of(context, cpu::attention_forward_scratch(args, dtype), dtype);
  if (op.dry()) return;
  with_float_type(
      dtype, [&]<class T>() { cpu::attention_forward<T>(args, scratch.data<Accumulator<T>>(), context.threads()); });
}

void attention_backward(Context& context, const AttentionBackward& args) {
  const Checks check(context, "attention_backward");
  const Tensor& queries = check_common(check, args);
  const DType dtype = queries.dtype();
  check.matrix("dout", args.dout, args.out.rows(), args.out.columns(), dtype);
  if (args.qkv) {
    check.matrix("dqkv", args.dqkv, args.qkv.rows(), args.qkv.columns(), dtype);
    check.that(args.dkv_mode == Accumulate::Overwrite, "dkv_mode Add is for cross-attention");
  } else {
    check.matrix("dq", args.dq, args.q.rows(), args.q.columns(), dtype);
    check.matrix("dkv", args.dkv, args.kv.rows(), args.kv.columns(), dtype);
  }
  // dV, dP, dQ, dK: four products. The scores that are computed again are not what the mathematics needs.
  CostScope op(context, "attention_backward", 4 * product_flops(args),
               bytes_of({args.dout, args.out, args.log_sum, args.qkv, args.q, args.kv, args.dqkv, args.dq, args.dkv}));
  const Tensor scratch = scratch_of(context, cpu::attention_backward_scratch(args, dtype), dtype);
  if (op.dry()) return;
  with_float_type(
      dtype, [&]<class T>() { cpu::attention_backward<T>(args, scratch.data<Accumulator<T>>(), context.threads()); });
}

void cached_attention(Context& context, const CachedAttention& args) {
  check_cached(Checks(context, "cached_attention"), args);
  const DType dtype = args.out.dtype();
  double positions = 0;
  for (const int32_t past : *args.past) positions += past;
  const double cache_bytes = positions * static_cast<double>(args.cache.size(2) * static_cast<int64_t>(size_of(dtype)));
  CostScope op(context, "cached_attention",
               4 * cached_pairs(args) * static_cast<double>(args.heads.heads() * args.heads.head_dim),
               bytes_of({args.qkv, args.q, args.out}) + cache_bytes);
  const Tensor scratch = scratch_of(context, cpu::cached_attention_scratch(args, dtype), dtype);
  if (op.dry()) return;
  with_float_type(
      dtype, [&]<class T>() { cpu::cached_attention<T>(args, scratch.data<Accumulator<T>>(), context.threads()); });
}

}  // namespace weft
