// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/ops/sequences.h"
#include "kernels/step_state.h"

namespace weft {

// The layout of heads in a row: kv_heads groups of `queries` query heads (grouped-query attention if queries > 1).
// packed QKV row: for each group: `queries` query heads, one key head, one value head, each head_dim wide
//   (the fused weight's shape (kv_heads, queries + 2, head_dim, width)).
// Q row (cross-attention): (kv_heads, queries, head_dim); packed KV row: (kv_heads, 2, head_dim).
// output row: (kv_heads, queries, head_dim).
struct AttentionHeads {
  int64_t kv_heads = 1;
  int64_t queries = 1;
  int64_t head_dim = 1;
  int64_t heads() const { return kv_heads * queries; }
};

// out = softmax(scale q k^T + mask) v per sequence and head, dropout on the weights. The score matrix is never stored:
// blocks with a running maximum and sum (Milakov & Gimelshein 2018; Dao et al. 2022). A query that sees no key gives 0.
// Masked pairs are skipped in forward and backward, not multiplied by a weight of 0, so that an infinity or NaN in a
// key, value, query or dout spreads only along unmasked pairs. The key of attention dropout is Dropout's, with position
// = query position, channel = key position, head = first_head + head; its first_channel is 0.
struct AttentionForward {
  Tensor qkv;  // self: packed QKV [rows, kv_heads (queries + 2) head_dim]; absent for cross
  Tensor q;    // cross: [query rows, heads head_dim]
  Tensor kv;   // cross: [key rows, kv_heads 2 head_dim]
  AttentionHeads heads;
  SharedOffsets query_offsets;
  SharedOffsets key_offsets;  // self: the same object as query_offsets
  bool causal = false;        // query i of a sequence sees keys 0..i (self-attention only)
  int64_t window = 0;         // query i sees keys j with |i - j| < window; 0: all (self-attention only)
  double scale = 1;           // usually 1 / sqrt(head_dim)
  Dropout dropout;
  int64_t first_head = 0;  // global index of this tensor's head 0
  Tensor out;              // [query rows, heads head_dim], written
  Tensor log_sum;          // accumulator dtype [heads, query rows], written: log of the softmax's denominator
};
void attention_forward(Context& context, const AttentionForward& args);

// The gradients do not depend on the number of threads, to the bit.
struct AttentionBackward {
  Tensor dout;
  Tensor qkv, q, kv;
  AttentionHeads heads;
  SharedOffsets query_offsets;
  SharedOffsets key_offsets;
  bool causal = false;
  int64_t window = 0;
  double scale = 1;
  Dropout dropout;
  int64_t first_head = 0;
  Tensor out, log_sum;  // as forward wrote them
  Tensor dqkv;          // self: overwritten
  Tensor dq, dkv;       // cross: overwritten
};
void attention_backward(Context& context, const AttentionBackward& args);

// Decoding: new queries against a key/value cache. Row block s (rows query_offsets[s]..) belongs to cache slot
// rows->slots[s], which holds rows->past[s] positions. Self (qkv): the rows' keys and values are appended at past[s]
// first, and query i sees positions 0 .. past[s] + i, or the last `window` of them. Cross (q): the queries see all
// past[s] positions. A row's result does not depend on the other rows of the call.
// Position p lies at row p % capacity of its slot. With a window the cache may be a ring: of a multiple of kRingBlock
// rows, with room for what the call's first row sees and all that is appended, window - 1 + appended.
inline constexpr int64_t kRingBlock = 128;
struct CachedAttention {
  Tensor qkv;  // self, packed; absent for cross
  Tensor q;    // cross: the query rows
  AttentionHeads heads;
  SharedOffsets query_offsets;
  SharedCacheRows rows;
  int64_t window = 0;
  double scale = 1;
  Tensor cache;  // compute dtype [slots, capacity, kv_heads 2 head_dim]
  Tensor out;    // [rows, heads head_dim]
};
void cached_attention(Context& context, const CachedAttention& args);

}  // namespace weft
