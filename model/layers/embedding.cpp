// SPDX-License-Identifier: Apache-2.0
#include "model/layers/embedding.h"

#include <cmath>

#include "base/enum_table.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embed.h"
#include "model/layers/constant_table.h"

namespace weft {
namespace {

// The table whose rows are added to the tokens' rows: none, parameters, or constants.
enum class PositionTable : uint8_t { None, Learned, Constant };
constexpr EnumTable<Positions, PositionTable> kPositionTable = {{Positions::Learned, PositionTable::Learned},
                                                                {Positions::Sinusoidal, PositionTable::Constant},
                                                                {Positions::Rotary, PositionTable::None},
                                                                {Positions::None, PositionTable::None}};

}  // namespace

Embedding::Embedding(LayerScope& scope, const std::string& name, int64_t vocabulary, const Parameter* shared_table)
    : config_(scope.config), table_(shared_table), shards_(scope.shards), dropout_id_(scope.dropout_id(name)) {
  const TransformerConfig& c = scope.config;
  const int64_t width = c.derived_embedding_width();
  const auto padding = c.padding_id >= 0 ? std::optional(c.padding_id) : std::nullopt;
  require<ConfigError>(!padding || *padding < vocabulary,
                       "model.padding_id: {} is not one of the {} tokens of {}; lower it, or set it to -1 for none",
                       c.padding_id, vocabulary, name);
  if (!table_) {
    table_ = &scope.registry.add({.name = name + ".tokens",
                                  .shape = {vocabulary, width},
                                  .init = scope.embedding_init(width),
                                  .decays = true,
                                  .placement = sharded(MeshAxis::Tp, 0),
                                  .padded = true,
                                  .zero_row = padding});
  }
  if (kPositionTable[c.positions] == PositionTable::Learned) {
    learned_ = &scope.registry.add({.name = name + ".positions",
                                    .shape = {c.max_length, c.width},
                                    .init = scope.embedding_init(c.width),
                                    .decays = true,
                                    .partial_over = shards_.sequence_axes()});
  }
  if (width != c.width) {
    projection_.emplace(scope, Linear::Options{.name = name + ".projection",
                                               .shape = {c.width, width},
                                               .init = scope.weight_init(width, c.width),
                                               .bias = c.bias});
  }
  scale_ = c.scale_embedding ? std::sqrt(static_cast<double>(c.width)) : 1.0;
}

void Embedding::prepare(Context& context, DType compute) {
  if (kPositionTable[config_.positions] != PositionTable::Constant) return;
  const std::vector<float> values =
      sinusoids(config_.max_length, config_.width, config_.sinusoid_form, config_.sinusoid_base);
  sinusoids_ = constant_table(context, values, {config_.max_length, config_.width}, compute);
}

Var Embedding::operator()(ForwardContext& forward, const Tokens& tokens) const {
  require<InternalError>(
      kPositionTable[config_.positions] == PositionTable::None || tokens->positions <= config_.max_length,
      "a token's position lies outside the table of {}", config_.max_length);
  if (!projection_ && !shards_.active()) return lookup(forward, tokens, true);
  const Var x = shards_.reduce_or_scatter(forward, lookup(forward, tokens, false), tokens);
  return add_positions(forward, projection_ ? (*projection_)(forward, x, tokens) : x, tokens);
}

Tensor Embedding::padding_row(const Tensor& table) const {
  if (!table || config_.padding_id < 0) return {};
  const int64_t row = config_.padding_id - shards_.first(table.size(0));
  return row >= 0 && row < table.size(0) ? table.slice(row, row + 1) : Tensor{};
}

Var Embedding::lookup(ForwardContext& forward, const Tokens& tokens, bool with_positions) const {
  Tape& tape = forward.tape;
  const ParameterUse use = tape.use(table_), learned = tape.use(with_positions ? learned_ : nullptr);
  const Tensor table = use.value();
  const Var y = tape.variable(tape.context().empty({tokens->count(), table.size(1)}, table.dtype()));
  const Dropout dropout =
      with_positions ? forward.dropout(config_.dropout.embedding, dropout_id_, tokens->replicated.ids) : Dropout{};
  const double scale = with_positions ? scale_ : 1.0;
  const int64_t first_token = shards_.first(table.size(0));
  embed_forward(tape.context(), {.tokens = tokens->tokens,
                                 .table = table,
                                 .first_token = first_token,
                                 .scale = scale,
                                 .positions = with_positions ? position_table() : Tensor{},
                                 .dropout = dropout,
                                 .row_positions = tokens->replicated.ids.position,
                                 .y = y->value});
  tape.push([this, &tape, y, first_token, scale, dropout, use, learned, tokens] {
    const Gradient dtable = use.gradient();
    embed_backward(tape.context(), {.dy = y->gradient,
                                    .tokens = tokens->tokens,
                                    .by_token = tokens->by_token,
                                    .first_token = first_token,
                                    .scale = scale,
                                    .dropout = dropout,
                                    .row_positions = tokens->replicated.ids.position,
                                    .by_position = tokens->replicated.by_position,
                                    .dtable = dtable,
                                    .dpositions = learned.gradient()});
    if (const Tensor row = padding_row(dtable.tensor)) fill(tape.context(), row, 0);
  });
  return y;
}

Var Embedding::add_positions(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  const Var y = tape.variable(tape.context().empty(x->value.shape(), x->value.dtype()));
  const Dropout dropout = forward.dropout(config_.dropout.embedding, dropout_id_, tokens->residual.ids);
  add_positions_forward(tape.context(), {.x = x->value,
                                         .scale = scale_,
                                         .positions = position_table(),
                                         .row_positions = tokens->residual.ids.position,
                                         .dropout = dropout,
                                         .y = y->value});
  const ParameterUse learned = tape.use(learned_);
  tape.push([&tape, x, y, dropout, scale = scale_, learned, tokens] {
    add_positions_backward(tape.context(), {.dy = y->gradient,
                                            .scale = scale,
                                            .row_positions = tokens->residual.ids.position,
                                            .by_position = tokens->residual.by_position,
                                            .dropout = dropout,
                                            .dx = tape.gradient(x).tensor,
                                            .dpositions = learned.gradient()});
  });
  return y;
}

}  // namespace weft
