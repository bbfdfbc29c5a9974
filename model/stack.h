#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/attention.h"

namespace weft {

// One block: self-attention, cross-attention in the decoder of a translation model, feed-forward; each a branch of
// the residual stream with a LayerNorm before it (pre-LN) or after the sum (post-LN).
class Block {
 public:
  Block(LayerScope& scope, const std::string& name, bool causal, bool cross, int layer);
  void operator()(ForwardContext& forward, Residual& stream, const Rows& rows, const Var& memory,
                  const Rows& memory_rows) const;
  const CrossAttention& cross() const { return *cross_; }

 private:
  template <class Branch>
  void branch(ForwardContext& forward, Residual& stream, const Rows& rows, const Norm& norm, uint32_t site,
              Parameter* bias, Branch&& run) const;

  bool pre_norm_;
  double dropout_;
  Norm attention_norm_;
  SelfAttention attention_;
  uint32_t attention_site_;
  std::optional<Norm> cross_norm_;
  std::optional<CrossAttention> cross_;
  uint32_t cross_site_ = 0;
  Norm ffn_norm_;
  FeedForward ffn_;
  uint32_t ffn_site_;
};

// Blocks in a row and the final norm.
class Stack {
 public:
  Stack(LayerScope& scope, const std::string& name, int64_t layers, bool causal, bool cross);
  // x [rows, width]; memory and memory_rows for cross-attention, else null and empty.
  Var operator()(ForwardContext& forward, const Var& x, const Rows& rows, const Var& memory,
                 const Rows& memory_rows) const;
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
  std::optional<Norm> final_norm_;
};

}  // namespace weft
