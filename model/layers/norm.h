// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "model/layers/layer_scope.h"

namespace weft {

// The parameters of a norm over the last dim, [width] each; residual_norm computes it (model/layers/residual.h).
class Norm {
 public:
  Norm(LayerScope& scope, const std::string& name) : Norm(scope, name, scope.shards.sequence_axes()) {}
  // The gradient of its output is partial over these axes, and so are those of its parameters.
  Norm(LayerScope& scope, const std::string& name, AxisSet partial_over);
  const Parameter* gamma() const { return gamma_; }
  const Parameter* beta() const { return beta_; }  // null if norms have no bias
  NormKind kind() const { return kind_; }
  double epsilon() const { return epsilon_; }

 private:
  const Parameter* gamma_;
  const Parameter* beta_ = nullptr;
  NormKind kind_;
  double epsilon_;
};

}  // namespace weft
