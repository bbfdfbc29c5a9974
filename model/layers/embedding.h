// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "model/layers/linear.h"

namespace weft {

// Token embedding (projected if its width differs from the model's), scale, positions, dropout. The row of a padding
// token begins at zero and gets no gradient, so that training leaves it at zero.
class Embedding {
 public:
  Embedding(LayerScope& scope, const std::string& name, int64_t vocabulary, const Parameter* shared_table = nullptr);
  // [sequence-sharded tokens, width]
  Var operator()(ForwardContext& forward, const Tokens& tokens) const;
  const Parameter* table() const { return table_; }
  // Makes the constant tables, which are not in the registry; called once the registry is allocated.
  void prepare(Context& context, DType compute);

 private:
  // The padding token's row of a tensor that is laid out like the table, if this rank has it; otherwise absent.
  Tensor padding_row(const Tensor& table) const;
  Var lookup(ForwardContext& forward, const Tokens& tokens, bool with_positions) const;
  Var add_positions(ForwardContext& forward, const Var& x, const Tokens& tokens) const;
  Tensor position_table() const { return learned_ ? learned_->value() : sinusoids_; }

  const TransformerConfig& config_;
  const Parameter* table_;
  const Parameter* learned_ = nullptr;
  std::optional<Linear> projection_;
  const TensorParallel& shards_;
  Tensor sinusoids_;
  double scale_;
  uint64_t dropout_id_;
};

}  // namespace weft
