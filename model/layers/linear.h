// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "kernels/ops/linear.h"
#include "model/forward_context.h"
#include "model/layers/layer_scope.h"
#include "model/layers/lora.h"
#include "model/packed_tokens.h"

namespace weft {

// linear_forward, with the packed weight if this pass has packed weights.
void linear_of_pass(ForwardContext& forward, LinearForward args);

// How tensor parallelism divides a product.
enum class LinearSharding : uint8_t {
  None,            // every rank has the whole weight: sequence-sharded tokens in and out
  ColumnParallel,  // outputs are divided: sequence-sharded tokens in, this rank's features of replicated tokens out
  // Inputs are divided: this rank's features of replicated tokens in, sequence-sharded tokens out. The residual sum
  // that follows adds the bias (Linear::residual_bias): its backward pass has the bias's gradient in registers. The
  // parts of several ranks are not rounded before that sum.
  RowParallel,
};

// y = x W^T + b. `shape` is the weight's global shape, its last dim the input's width.
class Linear {
 public:
  struct Options {
    std::string name;
    Shape shape;
    Init init;
    bool bias = true;
    LinearSharding sharding = LinearSharding::None;
    int divided_dim = 0;         // ColumnParallel: the dim of the outputs that tp divides
    bool replicated_in = false;  // ColumnParallel: the input's tokens are replicated already
  };
  Linear(LayerScope& scope, const Options& options);
  Var operator()(ForwardContext& forward, const Var& x, const Tokens& tokens) const;

  // The steps of operator(), for a layer that runs several products with one backward (FeedForward): the input on the
  // tokens that the product reads; one use of the parameters (without the bias if the residual sum adds it); the tensor
  // that the product writes; the output made from it.
  struct Use {
    ParameterUse weight, bias;
  };
  Var input(ForwardContext& forward, const Var& x, const Tokens& tokens) const;
  Use use(Tape& tape) const;
  Var result(const Tape& tape, const Tensor& input) const;
  Var output(ForwardContext& forward, const Var& result, const Tokens& tokens) const;
  bool adapted() const { return lora_.has_value(); }
  // Adds the adapter's output for `input` to the product's result, before any activation. No-op without an adapter.
  Lora::Use adapt(ForwardContext& forward, const Tensor& input, const Tokens& tokens, const Tensor& result) const;

  int64_t columns() const;  // columns of the result: the outputs of this rank
  // The bias that the following residual_norm has to add, or null.
  const Parameter* residual_bias() const { return sharding_ == LinearSharding::RowParallel ? bias_ : nullptr; }

 private:
  const Parameter* weight_;
  const Parameter* bias_ = nullptr;
  std::optional<Lora> lora_;
  const TensorParallel& shards_;
  LinearSharding sharding_;
  bool replicated_in_;
  bool sums_parts_;  // the output is a sum over tp
};

}  // namespace weft
