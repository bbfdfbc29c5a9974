// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/ops/heads.h"
#include "model/forward_context.h"
#include "model/layers/layer_scope.h"

namespace weft {

class RotaryTables;

// What happens to queries and keys between their product and attention: QK-norm, and in self-attention rotary positions
// (kernels/ops/heads.h). With cosine scores they are normed without gains, so that a score is a cosine.
class QueriesAndKeys {
 public:
  // `row`: the heads in a row of the product on this rank. `rotates`: their tokens' positions turn them.
  QueriesAndKeys(LayerScope& scope, const std::string& name, const HeadRow& row, bool rotates);
  // The rows that attention reads. `heads` must have no other reader: it is turned in place, or its gradient is.
  Var operator()(ForwardContext& forward, const Var& heads, const Tokens& tokens) const;

 private:
  HeadNorm norm_of(ForwardContext& forward, const Var& heads, const ParameterUse& query_gamma,
                   const ParameterUse& key_gamma) const;

  HeadRow row_;
  QkNorm norm_;
  double epsilon_;
  const Parameter *query_gamma_ = nullptr, *key_gamma_ = nullptr;
  const TensorParallel& shards_;
  const RotaryTables* rotary_;  // null: not turned
};

// What attention multiplies the products of queries and keys by (model.attention_score).
double score_scale(const TransformerConfig& config);

}  // namespace weft
