#pragma once
#include "model/layers.h"

namespace weft {

// Multi-head attention: packed query-key-value product, attention over ragged rows, output product whose bias joins
// with the residual sum.
class SelfAttention {
 public:
  SelfAttention(LayerScope& scope, const std::string& name, bool causal, int layer);
  // The branch's output without the output bias; see output_bias().
  Var operator()(ForwardContext& forward, const Var& x, const Rows& rows) const;
  Parameter* output_bias() const { return output_.residual_bias(); }

 private:
  Var decode(ForwardContext& forward, const Var& x, const Rows& rows) const;

  AttentionHeads heads_;  // of this tp rank
  int64_t first_head_;
  Linear qkv_, output_;
  bool causal_;
  int layer_;
  double dropout_;
  uint32_t site_;
};

// Queries from the decoder, keys and values from the encoder's output ("memory").
class CrossAttention {
 public:
  CrossAttention(LayerScope& scope, const std::string& name, int layer);
  // `memory` has full rows (TensorParallel::enter).
  Var operator()(ForwardContext& forward, const Var& x, const Rows& rows, const Var& memory,
                 const Rows& memory_rows) const;
  // While decoding: the keys and values of the memory, computed once.
  Var keys_and_values(ForwardContext& forward, const Var& memory, const Rows& memory_rows) const;
  Parameter* output_bias() const { return output_.residual_bias(); }

 private:
  Var decode(ForwardContext& forward, const Var& x, const Rows& rows) const;

  AttentionHeads heads_;  // of this tp rank
  int64_t first_head_;
  Linear q_, kv_, output_;
  int layer_;
  double dropout_;
  uint32_t site_;
};

class FeedForward {
 public:
  FeedForward(LayerScope& scope, const std::string& name);
  Var operator()(ForwardContext& forward, const Var& x, const Rows& rows) const {
    return down_(forward, up_(forward, x, rows), rows);
  }
  Parameter* output_bias() const { return down_.residual_bias(); }

 private:
  Linear up_, down_;
};

}  // namespace weft
