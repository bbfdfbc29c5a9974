#include "model/stack.h"

namespace weft {

Block::Block(Builder& builder, const std::string& name, bool causal, bool cross, int layer)
    : pre_norm_(builder.config.norm == NormPlacement::Pre),
      dropout_(builder.config.dropout.residual),
      attention_norm_(builder, name + ".attention_norm"),
      attention_(builder, name + ".attention", causal, layer),
      attention_site_(builder.sites.next()),
      cross_norm_(cross ? std::optional<Norm>(std::in_place, builder, name + ".cross_norm") : std::nullopt),
      cross_(cross ? std::optional<CrossAttention>(std::in_place, builder, name + ".cross", layer) : std::nullopt),
      cross_site_(builder.sites.next()),
      ffn_norm_(builder, name + ".ffn_norm"),
      ffn_(builder, name + ".ffn"),
      ffn_site_(builder.sites.next()) {}

template <class Branch>
void Block::branch(Pass& pass, Residual& stream, const Rows& rows, const Norm& norm, uint32_t site, Parameter* bias,
                   Branch&& run) const {
  const Var x = pre_norm_ ? stream.normed(pass, norm, rows) : stream.value(pass, rows);
  stream.add(run(x), bias, dropout_, site);
  if (!pre_norm_) stream.normalise(pass, norm, rows);
}

void Block::operator()(Pass& pass, Residual& stream, const Rows& rows, const Var& memory,
                       const Rows& memory_rows) const {
  branch(pass, stream, rows, attention_norm_, attention_site_, attention_.output_bias(),
         [&](const Var& x) { return attention_(pass, x, rows); });
  if (cross_) {
    branch(pass, stream, rows, *cross_norm_, cross_site_, cross_->output_bias(),
           [&](const Var& x) { return (*cross_)(pass, x, rows, memory, memory_rows); });
  }
  branch(pass, stream, rows, ffn_norm_, ffn_site_, ffn_.output_bias(),
         [&](const Var& x) { return ffn_(pass, x, rows); });
}

Stack::Stack(Builder& builder, const std::string& name, int64_t layers, bool causal, bool cross) {
  blocks_.reserve(static_cast<size_t>(layers));
  for (int64_t i = 0; i < layers; ++i) {
    blocks_.emplace_back(builder, name + "." + std::to_string(i), causal, cross, static_cast<int>(i));
  }
  if (builder.config.final_norm) final_norm_.emplace(builder, name + ".final_norm");
}

Var Stack::operator()(Pass& pass, const Var& x, const Rows& rows, const Var& memory, const Rows& memory_rows) const {
  Residual stream(x);
  for (const Block& block : blocks_) {
    stream.segment(pass, memory, [&block, rows, memory_rows](Pass& p, Residual& s, const Var& m) {
      block(p, s, rows, m, memory_rows);
    });
  }
  return final_norm_ ? stream.normed(pass, *final_norm_, rows) : stream.value(pass, rows);
}

}  // namespace weft
