// SPDX-License-Identifier: Apache-2.0
#include "model/layers/queries_and_keys.h"

#include <cmath>

#include "model/layers/rotary_tables.h"

namespace weft {
namespace {

// Cosine scores norm each head too; nothing is added that would move a cosine.
constexpr double kCosineEpsilon = 1e-12;

// The gains of the queries or of the keys: of a head, shared by all of them, or of all of the whole model's heads.
const Parameter* gains(LayerScope& scope, const std::string& name, int64_t heads_of_group) {
  const TransformerConfig& c = scope.config;
  if (heads_of_group == 0) return nullptr;
  ParameterSpec spec{.name = name + ".weight", .init = Init::ones()};
  if (c.qk_norm == QkNorm::Head) {
    spec.shape = {c.derived_head_dim()};
    spec.partial_over = scope.shards.product_axes();  // a rank has its own heads
  } else {
    spec.shape = {c.derived_kv_heads(), heads_of_group, c.derived_head_dim()};
    spec.placement = sharded(MeshAxis::Tp, 0);
  }
  return &scope.registry.add(std::move(spec));
}

}  // namespace

double score_scale(const TransformerConfig& c) {
  const auto dim = static_cast<double>(c.derived_head_dim());
  switch (c.attention_score) {
    case AttentionScore::Scaled:
      return 1 / std::sqrt(dim);
    case AttentionScore::Plain:
      return 1;
    case AttentionScore::Cosine:
      return 1 / dim;  // of heads whose mean square is 1
  }
  throw InternalError("no such score");
}

QueriesAndKeys::QueriesAndKeys(LayerScope& scope, const std::string& name, const HeadRow& row, bool rotates)
    : row_(row),
      norm_(scope.config.derived_qk_norm()),
      epsilon_(scope.config.attention_score == AttentionScore::Cosine ? kCosineEpsilon : scope.config.norm_epsilon),
      shards_(scope.shards),
      rotary_(rotates && scope.config.positions == Positions::Rotary ? &scope.rotary : nullptr) {
  if (scope.config.qk_norm == QkNorm::None) return;
  query_gamma_ = gains(scope, name + ".query_norm", row.queries);
  key_gamma_ = gains(scope, name + ".key_norm", row.keys);
}

HeadNorm QueriesAndKeys::norm_of(ForwardContext& forward, const Var& heads, const ParameterUse& query_gamma,
                                 const ParameterUse& key_gamma) const {
  HeadNorm norm{
      .scope = norm_, .query_gamma = query_gamma.value(), .key_gamma = key_gamma.value(), .epsilon = epsilon_};
  if (norm_ != QkNorm::Width) return norm;
  const Tensor& x = heads->value;
  norm.squares = forward.context().empty({x.rows(), 2}, accumulator_of(x.dtype()));
  head_squares(forward.context(), {.x = x, .row = row_, .sums = norm.squares});
  shards_.sum(forward, norm.squares);
  const int64_t ranks = shards_.communicator().size();
  norm.query_features = ranks * row_.groups * row_.queries * row_.head_dim;
  norm.key_features = ranks * row_.groups * row_.keys * row_.head_dim;
  return norm;
}

Var QueriesAndKeys::operator()(ForwardContext& forward, const Var& heads, const Tokens& tokens) const {
  if (norm_ == QkNorm::None && !rotary_) return heads;
  require<InternalError>(!rotary_ || tokens->positions <= rotary_->positions(),
                         "a token's position lies outside the tables of {}", rotary_ ? rotary_->positions() : 0);
  Tape& tape = forward.tape;
  const ParameterUse query_gamma = tape.use(query_gamma_), key_gamma = tape.use(key_gamma_);
  const HeadNorm norm = norm_of(forward, heads, query_gamma, key_gamma);
  const Rotary rotary = rotary_ ? rotary_->at(tokens->replicated.ids.position) : Rotary{};
  HeadsForward args{.x = heads->value, .row = row_, .norm = norm, .rotary = rotary};
  if (norm_ != QkNorm::None) args.y = tape.context().empty(heads->shape, heads->value.dtype());
  heads_forward(tape.context(), args);
  const Var out = tape.variable(args.y ? args.y : heads->value);
  tape.push([this, &tape, heads, out, norm, rotary, query_gamma, key_gamma] {
    Context& context = tape.context();
    HeadsBackward back{.d = out->gradient, .row = row_, .norm = norm, .rotary = rotary};
    if (norm_ != QkNorm::None) back.x = heads->value;
    if (norm_ == QkNorm::Width) {
      back.products = context.empty(norm.squares.shape(), norm.squares.dtype());
      head_products(context,
                    {.dy = back.d, .x = back.x, .row = row_, .norm = norm, .rotary = rotary, .sums = back.products});
      shards_.sum_gradient(context, back.products);
    }
    back.dquery_gamma = query_gamma.gradient(), back.dkey_gamma = key_gamma.gradient();
    heads_backward(context, back);
    heads->gradient = back.d;
  });
  return out;
}

}  // namespace weft
