#include "model/stack.h"

namespace weft {

Block::Block(LayerScope& scope, const std::string& name, bool causal, bool cross, int layer)
    : pre_norm_(scope.config.norm_placement == NormPlacement::Pre),
      dropout_(scope.config.dropout.residual),
      attention_norm_(scope, name + ".attention_norm"),
      attention_(scope, name + ".attention", causal, layer),
      attention_site_(scope.sites.next()),
      cross_norm_(cross ? std::optional<Norm>(std::in_place, scope, name + ".cross_norm") : std::nullopt),
      cross_(cross ? std::optional<CrossAttention>(std::in_place, scope, name + ".cross", layer) : std::nullopt),
      cross_site_(scope.sites.next()),
      ffn_norm_(scope, name + ".ffn_norm"),
      ffn_(scope, name + ".ffn"),
      ffn_site_(scope.sites.next()) {}

template <class Branch>
void Block::branch(ForwardContext& forward, Residual& stream, const Rows& rows, const Norm& norm, uint32_t site,
                   Parameter* bias, Branch&& run) const {
  const Var x = pre_norm_ ? stream.normed(forward, norm, rows) : stream.value(forward, rows);
  stream.add(run(x), bias, dropout_, site);
  if (!pre_norm_) stream.normalise(forward, norm, rows);
}

void Block::operator()(ForwardContext& forward, Residual& stream, const Rows& rows, const Var& memory,
                       const Rows& memory_rows) const {
  branch(forward, stream, rows, attention_norm_, attention_site_, attention_.output_bias(),
         [&](const Var& x) { return attention_(forward, x, rows); });
  if (cross_) {
    branch(forward, stream, rows, *cross_norm_, cross_site_, cross_->output_bias(),
           [&](const Var& x) { return (*cross_)(forward, x, rows, memory, memory_rows); });
  }
  branch(forward, stream, rows, ffn_norm_, ffn_site_, ffn_.output_bias(),
         [&](const Var& x) { return ffn_(forward, x, rows); });
}

Stack::Stack(LayerScope& scope, const std::string& name, int64_t layers, bool causal, bool cross) {
  blocks_.reserve(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) {
    blocks_.emplace_back(scope, name + "." + std::to_string(i), causal, cross, static_cast<int>(i));
  }
  if (scope.config.final_norm) final_norm_.emplace(scope, name + ".final_norm");
}

Var Stack::operator()(ForwardContext& forward, const Var& x, const Rows& rows, const Var& memory,
                      const Rows& memory_rows) const {
  Residual stream(x);
  for (const Block& block : blocks_) {
    stream.segment(forward, memory, [&block, rows, memory_rows](ForwardContext& p, Residual& s, const Var& m) {
      block(p, s, rows, m, memory_rows);
    });
  }
  return final_norm_ ? stream.normed(forward, *final_norm_, rows) : stream.value(forward, rows);
}

}  // namespace weft
