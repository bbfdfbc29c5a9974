// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"

namespace weft {

struct StackOptions {
  std::string name;  // prefix of its parameters: NAME.0.attention.qkv.weight
  int64_t layers = 0;
  bool causal = false;  // a token attends to itself and those before it
  bool cross = false;   // every block also attends to the encoder's output
};

// One block: self-attention, cross-attention in the decoder of a translation model, feed-forward; each a branch of
// the residual stream.
class Block {
 public:
  Block(LayerScope& scope, const StackOptions& stack, int layer);
  void operator()(ForwardContext& forward, Residual& residual, const Tokens& tokens, const Memory& memory) const;
  const CrossAttention& cross() const { return *cross_; }

 private:
  Block(LayerScope& scope, const std::string& name, const StackOptions& stack, int layer);

  SelfAttention attention_;
  std::optional<CrossAttention> cross_;
  FeedForward ffn_;
};

// A sequence of blocks and the final norm.
class Stack {
 public:
  Stack(const LayerScope& scope, const StackOptions& options);
  // x and the result are [sequence-sharded tokens, width].
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens, const Memory& memory) const;
  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  std::vector<Block> blocks_;
  std::optional<Norm> final_norm_;
};

}  // namespace weft
