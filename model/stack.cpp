// SPDX-License-Identifier: Apache-2.0
#include "model/stack.h"

#include <fmt/core.h>

namespace weft {

Block::Block(LayerScope& scope, const StackOptions& stack, int layer)
    : Block(scope, fmt::format("{}.{}", stack.name, layer), stack, layer) {}

Block::Block(LayerScope& scope, const std::string& name, const StackOptions& stack, int layer)
    : attention_(scope, name + ".attention", stack.causal, layer),
      cross_(stack.cross ? std::optional<CrossAttention>(std::in_place, scope, name + ".cross", layer) : std::nullopt),
      ffn_(scope, name + ".ffn") {}

void Block::operator()(ForwardContext& forward, Residual& residual, const Tokens& tokens, const Memory& memory) const {
  residual.apply(forward, attention_, tokens);
  if (cross_) residual.apply(forward, *cross_, tokens, memory);
  residual.apply(forward, ffn_, tokens);
}

Stack::Stack(const LayerScope& outer, const StackOptions& options) {
  LayerScope scope = outer;
  scope.residual_branches = (options.cross ? 3 : 2) * options.layers;
  blocks_.reserve(static_cast<size_t>(options.layers));
  for (int64_t i = 0; i < options.layers; ++i) blocks_.emplace_back(scope, options, static_cast<int>(i));
  if (scope.config.final_norm) final_norm_.emplace(scope, options.name + ".final_norm");
}

Var Stack::operator()(ForwardContext& forward, const Var& x, const Tokens& tokens, const Memory& memory) const {
  Residual residual(x);
  for (const Block& block : blocks_) {
    residual.segment(forward, memory.states,
                     [&block, tokens, sources = memory.tokens](ForwardContext& inner, Residual& r, const Var& states) {
                       block(inner, r, tokens, {states, sources});
                     });
  }
  return final_norm_ ? residual.normed(forward, *final_norm_, tokens) : residual.value(forward, tokens);
}

}  // namespace weft
