// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "model/layers/linear.h"
#include "model/layers/residual.h"

namespace weft {

// Two products with an activation and its dropout between them. They share one backward, since the second product's
// backward writes the gradient of the first product's output before the activation. With a gate the first product has
// two outputs for each hidden feature (kernels/ops/activation.h).
class FeedForward : public Branch {
 public:
  FeedForward(LayerScope& scope, const std::string& name);
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens) const;
  const Parameter* output_bias() const { return down_.residual_bias(); }

 private:
  struct Saved;
  void make_hidden(ForwardContext& forward, Saved& s, const Tokens& tokens) const;
  Tensor pre_gradient(Context& context, const Saved& s) const;
  void backward(const Tape& tape, const Saved& s) const;

  Linear up_, down_;
  const TensorParallel& shards_;
  Activation activation_;
  bool gated_;
  double dropout_;
  uint64_t dropout_id_;
};

}  // namespace weft
