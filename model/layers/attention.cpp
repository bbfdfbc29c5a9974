// SPDX-License-Identifier: Apache-2.0
#include "model/layers/attention.h"

#include <cmath>

#include "model/cache.h"

namespace weft {
namespace {

// Returns the head counts of the whole model.
AttentionHeads heads_of(const TransformerConfig& c) {
  const int64_t kv_heads = c.derived_kv_heads();
  return {.kv_heads = kv_heads,
          .queries = div_exact(c.heads, kv_heads, "heads / kv_heads"),
          .head_dim = c.derived_head_dim()};
}

// Returns the heads of this rank: whole groups of query heads with their key and value heads.
AttentionHeads local_heads(const LayerScope& b) {
  AttentionHeads heads = heads_of(b.config);
  heads.kv_heads = b.shards.share(heads.kv_heads, "model.kv_heads");
  return heads;
}

// Rows of this rank's heads: of each group so many query heads, and a key and a value head if there are `keys`.
HeadRow row_of(const AttentionHeads& heads, int64_t queries, int64_t keys) {
  return {.groups = heads.kv_heads, .queries = queries, .keys = keys, .values = keys, .head_dim = heads.head_dim};
}

// A projection to `parts` heads a group (queries, keys, values). Under Xavier each part is a matrix of its own; if
// queries, keys and values share the input, fairseq's gain 1/sqrt(2) is the bound of their joint product.
Linear::Options projection(const LayerScope& b, const std::string& name, int64_t parts) {
  const TransformerConfig& c = b.config;
  const AttentionHeads heads = heads_of(c);
  Init init = b.weight_init(c.width, heads.heads() * heads.head_dim);
  if (c.init == InitScheme::Xavier) init.spread /= std::sqrt(2.0);
  return {.name = name,
          .shape = {heads.kv_heads, parts, heads.head_dim, c.width},
          .init = init,
          .bias = c.bias || c.qkv_bias,
          .sharding = LinearSharding::ColumnParallel};
}

// The encoder's output is gathered over tp once for all layers, so this projection reads it replicated.
Linear::Options memory_projection(const LayerScope& b, const std::string& name) {
  Linear::Options options = projection(b, name, 2);
  options.replicated_in = true;
  return options;
}

Linear::Options output_projection(const LayerScope& b, const std::string& name) {
  const AttentionHeads heads = heads_of(b.config);
  const int64_t in = heads.heads() * heads.head_dim;
  return {.name = name,
          .shape = {b.config.width, in},
          .init = b.residual_init(in, b.config.width),
          .bias = b.config.bias,
          .sharding = LinearSharding::RowParallel};
}

// A post-LN block norms sums, and has no norm for the memory.
NormInput cross_norm_input(const TransformerConfig& c, NormInput of_other_branches) {
  if (c.cross_norm == CrossNorm::Query) return of_other_branches;
  require<InternalError>(c.norm_placement == NormPlacement::Pre, "a post-LN block that norms the memory");
  return NormInput::Memory;
}

// The inputs of one attention's backward. Self-attention sets qkv, cross-attention q and kv.
struct SavedAttention {
  Var qkv, q, kv, out;
  Tensor log_sum;
  SharedOffsets query_offsets, key_offsets;
  bool causal = false;
  int64_t window = 0;
  Dropout dropout;
  AttentionHeads heads;
  double scale = 1;
  int64_t first_head = 0;

  // The arguments that forward and backward share.
  template <class Args>
  Args args() const {
    const auto value = [](const Var& v) { return v ? v->value : Tensor{}; };
    Args a;
    a.qkv = value(qkv), a.q = value(q), a.kv = value(kv);
    a.heads = heads, a.first_head = first_head;
    a.query_offsets = query_offsets, a.key_offsets = key_offsets;
    a.causal = causal, a.window = window;
    a.scale = scale;
    a.dropout = dropout;
    a.out = out->value, a.log_sum = log_sum;
    return a;
  }
};

Var attend(ForwardContext& forward, int layer, SavedAttention s) {
  Tape& tape = forward.tape;
  Context& context = tape.context();
  const Tensor& queries = s.qkv ? s.qkv->value : s.q->value;
  const int64_t n = queries.size(0);
  s.out = tape.variable(context.empty({n, s.heads.heads() * s.heads.head_dim}, queries.dtype()));
  s.log_sum = context.empty({s.heads.heads(), n}, accumulator_of(queries.dtype()));
  const auto args = s.args<AttentionForward>();
  attention_forward(context, args);
  if (forward.observer && !tape.training()) forward.observer->attended(layer, args);
  Var out = s.out;
  tape.push([&tape, s = std::move(s)] {
    auto back = s.args<AttentionBackward>();
    back.dout = s.out->gradient;
    // Queries, keys and values come from products that nothing else reads: their gradients are overwritten.
    if (s.qkv) back.dqkv = tape.gradient(s.qkv).tensor;
    if (s.q) back.dq = tape.gradient(s.q).tensor;
    if (s.kv) back.dkv = tape.gradient(s.kv).tensor;
    attention_backward(tape.context(), back);
  });
  return out;
}

// Runs an attention's products as a separate segment if backward is to recompute them.
template <class Body>
Var recomputed(ForwardContext& forward, const std::vector<Var>& inputs, Body&& body) {
  if (forward.recompute != Recompute::Attention || !forward.tape.training()) return body(forward, inputs);
  return forward.tape.recompute(inputs, [step = forward.step, body](Tape& tape, const std::vector<Var>& in) {
    ForwardContext inner{.tape = tape, .step = step};
    return std::vector<Var>{body(inner, in)};
  })[0];
}

}  // namespace

SelfAttention::SelfAttention(LayerScope& scope, const std::string& name, bool causal, int layer)
    : Branch(scope, name),
      heads_(local_heads(scope)),
      first_head_(scope.shards.first(heads_.heads())),
      scale_(score_scale(scope.config)),
      qkv_(scope, projection(scope, name + ".qkv", heads_.queries + 2)),
      queries_and_keys_(scope, name, row_of(heads_, heads_.queries, 1), true),
      output_(scope, output_projection(scope, name + ".output")),
      causal_(causal),
      window_(scope.config.attention_window(layer)),
      layer_(layer),
      dropout_(scope.config.dropout.attention),
      dropout_id_(scope.dropout_id(name)) {}

Var SelfAttention::operator()(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  if (forward.cache && causal_) return decode(forward, x, tokens);
  return recomputed(forward, {x}, [this, tokens](ForwardContext& inner, const std::vector<Var>& in) {
    const Var out = attend(inner, layer_,
                           {.qkv = queries_and_keys_(inner, qkv_(inner, in[0], tokens), tokens),
                            .query_offsets = tokens->offsets,
                            .key_offsets = tokens->offsets,
                            .causal = causal_,
                            .window = window_,
                            .dropout = inner.dropout(dropout_, dropout_id_, tokens->replicated.ids),
                            .heads = heads_,
                            .scale = scale_,
                            .first_head = first_head_});
    return output_(inner, out, tokens);
  });
}

Var SelfAttention::decode(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  const Var qkv = queries_and_keys_(forward, qkv_(forward, x, tokens), tokens);
  const Var out =
      tape.constant(tape.context().empty({tokens->count(), heads_.heads() * heads_.head_dim}, qkv->value.dtype()));
  cached_attention(tape.context(), {.qkv = qkv->value,
                                    .heads = heads_,
                                    .query_offsets = tokens->offsets,
                                    .rows = forward.cache->self_rows(),
                                    .window = window_,
                                    .scale = scale_,
                                    .cache = forward.cache->self(layer_),
                                    .out = out->value});
  return output_(forward, out, tokens);
}

CrossAttention::CrossAttention(LayerScope& scope, const std::string& name, int layer)
    : Branch(scope, name, cross_norm_input(scope.config, norm_input(scope.config))),
      heads_(local_heads(scope)),
      first_head_(scope.shards.first(heads_.heads())),
      scale_(score_scale(scope.config)),
      q_(scope, projection(scope, name + ".q", heads_.queries)),
      kv_(scope, memory_projection(scope, name + ".kv")),
      queries_(scope, name, row_of(heads_, heads_.queries, 0), false),
      keys_(scope, name, row_of(heads_, 0, 1), false),
      output_(scope, output_projection(scope, name + ".output")),
      layer_(layer),
      dropout_(scope.config.dropout.attention),
      dropout_id_(scope.dropout_id(name)) {}

Var CrossAttention::keys_and_values(ForwardContext& forward, const Memory& memory) const {
  const Tokens& tokens = memory.tokens;
  const Var states = norms_memory() ? Residual(memory.states).normed(forward, norm(), tokens) : memory.states;
  return keys_(forward, kv_(forward, states, tokens), tokens);
}

Var CrossAttention::operator()(ForwardContext& forward, const Var& x, const Tokens& tokens,
                               const Memory& memory) const {
  if (forward.cache) return decode(forward, x, tokens);
  return recomputed(forward, {x, memory.states},
                    [this, tokens, sources = memory.tokens](ForwardContext& inner, const std::vector<Var>& in) {
                      const Var q = queries_(inner, q_(inner, in[0], tokens), tokens);
                      const Var out = attend(inner, layer_,
                                             {.q = q,
                                              .kv = keys_and_values(inner, {in[1], sources}),
                                              .query_offsets = tokens->offsets,
                                              .key_offsets = sources->offsets,
                                              .dropout = inner.dropout(dropout_, dropout_id_, tokens->replicated.ids),
                                              .heads = heads_,
                                              .scale = scale_,
                                              .first_head = first_head_});
                      return output_(inner, out, tokens);
                    });
}

Var CrossAttention::decode(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  const Var q = queries_(forward, q_(forward, x, tokens), tokens);
  const Var out = tape.constant(tape.context().empty(q->value.shape(), q->value.dtype()));
  cached_attention(tape.context(), {.q = q->value,
                                    .heads = heads_,
                                    .query_offsets = tokens->offsets,
                                    .rows = forward.cache->memory_rows(),
                                    .scale = scale_,
                                    .cache = forward.cache->memory(layer_),
                                    .out = out->value});
  return output_(forward, out, tokens);
}

}  // namespace weft
