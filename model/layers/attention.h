// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/ops/attention.h"
#include "model/layers/linear.h"
#include "model/layers/queries_and_keys.h"
#include "model/layers/residual.h"

namespace weft {

// The encoder's output, which the decoder's cross-attention reads; empty for a stack without cross-attention.
struct Memory {
  Var states;     // [replicated tokens, width] (TensorParallel::copy_or_gather)
  Tokens tokens;  // the source's tokens
};

// Multi-head attention: packed query-key-value product, attention over ragged sequences, output product.
class SelfAttention : public Branch {
 public:
  SelfAttention(LayerScope& scope, const std::string& name, bool causal, int layer);
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens) const;
  const Parameter* output_bias() const { return output_.residual_bias(); }

 private:
  Var decode(ForwardContext& forward, const Var& x, const Tokens& tokens) const;

  AttentionHeads heads_;  // this tp rank's
  int64_t first_head_;
  double scale_;
  Linear qkv_;
  QueriesAndKeys queries_and_keys_;
  Linear output_;
  bool causal_;
  int64_t window_;
  int layer_;
  double dropout_;
  uint64_t dropout_id_;
};

// Queries from the decoder, keys and values from the encoder's output, which each block norms with CrossNorm::Memory.
class CrossAttention : public Branch {
 public:
  CrossAttention(LayerScope& scope, const std::string& name, int layer);
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens, const Memory& memory) const;
  // Computes the keys and values of the memory; decoding calls it once per source.
  Var keys_and_values(ForwardContext& forward, const Memory& memory) const;
  const Parameter* output_bias() const { return output_.residual_bias(); }

 private:
  Var decode(ForwardContext& forward, const Var& x, const Tokens& tokens) const;

  AttentionHeads heads_;  // this tp rank's
  int64_t first_head_;
  double scale_;
  Linear q_, kv_;
  QueriesAndKeys queries_, keys_;
  Linear output_;
  int layer_;
  double dropout_;
  uint64_t dropout_id_;
};

}  // namespace weft
