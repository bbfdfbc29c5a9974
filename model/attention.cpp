#include "model/attention.h"

#include <cmath>
#include <numeric>

#include "kernels/attention.h"
#include "kernels/plain.h"
#include "model/cache.h"

namespace weft {
namespace {

// The heads of the whole model.
AttentionHeads layout_of(const TransformerConfig& c) {
  const int64_t kv_heads = c.derived_kv_heads();
  return {.kv_heads = kv_heads,
          .queries = div_exact(c.heads, kv_heads, "heads / kv_heads"),
          .head_dim = c.derived_head_dim()};
}

// This rank's: whole groups of query heads with their key and value heads.
AttentionHeads local_layout(const LayerScope& b) {
  AttentionHeads heads = layout_of(b.config);
  heads.kv_heads = b.shards.share(heads.kv_heads, "model.kv_heads");
  return heads;
}

double score_scale(const AttentionHeads& heads) { return 1 / std::sqrt(static_cast<double>(heads.head_dim)); }

// A projection to `parts` heads a group (queries, keys, values). Under Xavier each part is a matrix of its own; where
// queries, keys and values share the input, fairseq's gain 1/sqrt(2) is the bound of their joint product.
Linear::Options projection(const LayerScope& b, const std::string& name, int64_t parts) {
  const TransformerConfig& c = b.config;
  const AttentionHeads heads = layout_of(c);
  Init init = b.weight_init(c.width, heads.heads() * heads.head_dim);
  if (c.init == InitScheme::Xavier) init.spread /= std::sqrt(2.0);
  return {.name = name,
          .shape = {heads.kv_heads, parts, heads.head_dim, c.width},
          .init = init,
          .bias = c.bias,
          .sharding = LinearSharding::ColumnParallel};
}

// Keys and values of the encoder's output, which enters once for all layers.
Linear::Options memory_projection(const LayerScope& b, const std::string& name) {
  Linear::Options options = projection(b, name, 2);
  options.full_rows_in = true;
  return options;
}

Linear::Options output_projection(const LayerScope& b, const std::string& name) {
  const AttentionHeads heads = layout_of(b.config);
  const int64_t in = heads.heads() * heads.head_dim;
  return {.name = name,
          .shape = {b.config.width, in},
          .init = b.weight_init(in, b.config.width, true),
          .bias = b.config.bias,
          .bias_in_residual = true,
          .sharding = LinearSharding::RowParallel};
}

// What one attention leaves for its backward.
struct Saved {
  Var qkv, q, kv, out;
  Tensor log_sum;
  Offsets query_offsets, key_offsets;
  bool causal = false;
  Dropout dropout;
  int64_t first_head = 0;
};

Var attend(Tape& tape, Saved s, const AttentionHeads& heads) {
  Context& context = tape.context();
  const Tensor& queries = s.qkv ? s.qkv->value : s.q->value;
  const int64_t rows = queries.size(0);
  s.out = tape.variable(context.empty({rows, heads.heads() * heads.head_dim}, queries.dtype()));
  s.log_sum = context.empty({heads.heads(), rows}, accumulator_of(queries.dtype()));
  const auto value = [](const Var& v) { return v ? v->value : Tensor{}; };
  attention_forward(context, {.qkv = value(s.qkv),
                              .q = value(s.q),
                              .kv = value(s.kv),
                              .heads = heads,
                              .query_offsets = &s.query_offsets,
                              .key_offsets = &s.key_offsets,
                              .causal = s.causal,
                              .scale = score_scale(heads),
                              .dropout = s.dropout,
                              .first_head = s.first_head,
                              .out = s.out->value,
                              .log_sum = s.log_sum});
  const Var out = s.out;
  tape.push([&tape, s = std::move(s), heads, value] {
    AttentionBackward back{.dout = s.out->gradient,
                           .qkv = value(s.qkv),
                           .q = value(s.q),
                           .kv = value(s.kv),
                           .heads = heads,
                           .query_offsets = &s.query_offsets,
                           .key_offsets = &s.key_offsets,
                           .causal = s.causal,
                           .scale = score_scale(heads),
                           .dropout = s.dropout,
                           .first_head = s.first_head,
                           .out = s.out->value,
                           .log_sum = s.log_sum};
    // Queries, keys and values come from products that nothing else reads: their gradients are overwritten.
    if (s.qkv) back.dqkv = tape.slot(s.qkv).tensor;
    if (s.q) back.dq = tape.slot(s.q).tensor;
    if (s.kv) back.dkv = tape.slot(s.kv).tensor;
    attention_backward(tape.context(), back);
  });
  return out;
}

// Runs an attention's products as a segment of their own where backward is to compute them again.
template <class Body>
Var recomputed(ForwardContext& forward, const std::vector<Var>& inputs, Body&& body) {
  if (forward.recompute != Recompute::Attention || !forward.tape.training()) return body(forward, inputs);
  const StepState* state = forward.state;
  return forward.tape.recompute(inputs, [state, body](Tape& tape, const std::vector<Var>& in) -> std::vector<Var> {
    ForwardContext inner{.tape = tape, .state = state};
    return {body(inner, in)};
  })[0];
}

}  // namespace

SelfAttention::SelfAttention(LayerScope& scope, const std::string& name, bool causal, int layer)
    : heads_(local_layout(scope)),
      first_head_(scope.shards.first(heads_.heads())),
      qkv_(scope, projection(scope, name + ".qkv", heads_.queries + 2)),
      output_(scope, output_projection(scope, name + ".output")),
      causal_(causal),
      layer_(layer),
      dropout_(scope.config.dropout.attention),
      site_(scope.sites.next()) {}

Var SelfAttention::operator()(ForwardContext& forward, const Var& x, const Rows& rows) const {
  if (forward.cache && causal_) return decode(forward, x, rows);
  return recomputed(forward, {x}, [this, rows](ForwardContext& inner, const std::vector<Var>& in) {
    const Var out = attend(inner.tape,
                           {.qkv = qkv_(inner, in[0], rows),
                            .query_offsets = rows.offsets,
                            .key_offsets = rows.offsets,
                            .causal = causal_,
                            .dropout = inner.dropout(dropout_, site_, rows.ids),
                            .first_head = first_head_},
                           heads_);
    return output_(inner, out, rows);
  });
}

Var SelfAttention::decode(ForwardContext& forward, const Var& x, const Rows& rows) const {
  Tape& tape = forward.tape;
  const Var qkv = qkv_(forward, x, rows);
  const Var out =
      tape.constant(tape.context().empty({rows.count(), heads_.heads() * heads_.head_dim}, qkv->value.dtype()));
  cached_attention(tape.context(), {.qkv = qkv->value,
                                    .heads = heads_,
                                    .query_offsets = &rows.offsets,
                                    .slots = &forward.cache->slots(),
                                    .past = &forward.cache->past(),
                                    .scale = score_scale(heads_),
                                    .cache = forward.cache->self(layer_),
                                    .out = out->value});
  return output_(forward, out, rows);
}

CrossAttention::CrossAttention(LayerScope& scope, const std::string& name, int layer)
    : heads_(local_layout(scope)),
      first_head_(scope.shards.first(heads_.heads())),
      q_(scope, projection(scope, name + ".q", heads_.queries)),
      kv_(scope, memory_projection(scope, name + ".kv")),
      output_(scope, output_projection(scope, name + ".output")),
      layer_(layer),
      dropout_(scope.config.dropout.attention),
      site_(scope.sites.next()) {}

Var CrossAttention::keys_and_values(ForwardContext& forward, const Var& memory, const Rows& memory_rows) const {
  return kv_(forward, memory, memory_rows);
}

Var CrossAttention::operator()(ForwardContext& forward, const Var& x, const Rows& rows, const Var& memory,
                               const Rows& memory_rows) const {
  if (forward.cache) return decode(forward, x, rows);
  return recomputed(forward, {x, memory}, [this, rows, memory_rows](ForwardContext& inner, const std::vector<Var>& in) {
    const Var q = q_(inner, in[0], rows);
    const Var out = attend(inner.tape,
                           {.q = q,
                            .kv = keys_and_values(inner, in[1], memory_rows),
                            .query_offsets = rows.offsets,
                            .key_offsets = memory_rows.offsets,
                            .dropout = inner.dropout(dropout_, site_, rows.ids),
                            .first_head = first_head_},
                           heads_);
    return output_(inner, out, rows);
  });
}

Var CrossAttention::decode(ForwardContext& forward, const Var& x, const Rows& rows) const {
  Tape& tape = forward.tape;
  const Var q = q_(forward, x, rows);
  const Var out = tape.constant(tape.context().empty(q->value.shape(), q->value.dtype()));
  const std::vector<int32_t> lengths = forward.cache->memory_lengths();
  cached_attention(tape.context(), {.q = q->value,
                                    .heads = heads_,
                                    .query_offsets = &rows.offsets,
                                    .slots = &forward.cache->sources(),
                                    .past = &lengths,
                                    .scale = score_scale(heads_),
                                    .cache = forward.cache->memory(layer_),
                                    .out = out->value});
  return output_(forward, out, rows);
}

FeedForward::FeedForward(LayerScope& scope, const std::string& name)
    : up_(scope, {.name = name + ".up",
                  .shape = {scope.config.derived_ffn(), scope.config.width},
                  .init = scope.weight_init(scope.config.width, scope.config.derived_ffn()),
                  .bias = scope.config.bias,
                  .sharding = LinearSharding::ColumnParallel,
                  .activation = scope.config.activation,
                  .dropout = scope.config.dropout.ffn}),
      down_(scope, {.name = name + ".down",
                    .shape = {scope.config.width, scope.config.derived_ffn()},
                    .init = scope.weight_init(scope.config.derived_ffn(), scope.config.width, true),
                    .bias = scope.config.bias,
                    .bias_in_residual = true,
                    .sharding = LinearSharding::RowParallel}) {}

}  // namespace weft
