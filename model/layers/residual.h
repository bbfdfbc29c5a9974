// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "model/forward_context.h"
#include "model/layers/norm.h"
#include "model/packed_tokens.h"

namespace weft {

// What the norm of a branch reads: the stream, before the body (pre-LN); the sum of both (post-LN); what the body
// gives, before it is added (OLMo 2); or the memory, which the body of a cross-attention passes through norm() itself.
enum class NormInput : uint8_t { Stream, Sum, Output, Memory };

// The parts of a residual branch (attention, feed-forward) besides its body: its norm, and the dropout of its output. A
// sublayer derives from it and has
//   Var operator()(ForwardContext&, const Var& x, const Tokens&, ...) const    its output, as Linear leaves it
//   const Parameter* output_bias() const                                             its Linear::residual_bias
class Branch {
 protected:
  // Declares the norm `name`_norm and the dropout site `name`.residual.
  Branch(LayerScope& scope, const std::string& name) : Branch(scope, name, norm_input(scope.config)) {}
  Branch(LayerScope& scope, const std::string& name, NormInput norm_input);
  // The norm's input in all branches but those of CrossNorm::Memory.
  static NormInput norm_input(const TransformerConfig& config);
  const Norm& norm() const { return norm_; }
  bool norms_memory() const { return norm_input_ == NormInput::Memory; }

 private:
  friend class Residual;
  Norm norm_;
  NormInput norm_input_;
  double dropout_;
  uint64_t dropout_id_;
};

// The residual stream of a stack: a value, and a branch that has not joined it yet, so that the sum and the next norm
// are one operation.
class Residual {
 public:
  explicit Residual(Var value) : value_(std::move(value)) {}

  // x + dropout(sublayer(norm(x)) + bias) in pre-LN, norm(x + dropout(sublayer(x) + bias)) in post-LN, and
  // x + dropout(sublayer(x) + bias) if the sublayer norms the memory.
  template <class Sublayer, class... Inputs>
  void apply(ForwardContext& forward, const Sublayer& sublayer, const Tokens& tokens, const Inputs&... inputs) {
    const Branch& branch = sublayer;
    const Var x = branch_input(forward, branch, tokens);
    add(forward, branch, sublayer(forward, x, tokens, inputs...), sublayer.output_bias(), tokens);
  }
  // The stream's value and its norm, both after the waiting branch has joined.
  Var value(ForwardContext& forward, const Tokens& tokens);
  Var normed(ForwardContext& forward, const Norm& norm, const Tokens& tokens);

  // Runs body(forward, residual, memory), which may use the stream and the memory alone, as a recomputed segment.
  using Body = std::function<void(ForwardContext&, Residual&, const Var& memory)>;
  void segment(ForwardContext& forward, const Var& memory, const Body& body);

 private:
  Var branch_input(ForwardContext& forward, const Branch& branch, const Tokens& tokens);
  void add(ForwardContext& forward, const Branch& branch, Var output, const Parameter* bias, const Tokens& tokens);
  Var join(ForwardContext& forward, const Tokens& tokens, const Norm* norm = nullptr);
  DType dtype() const { return value_->value.dtype(); }

  Var value_, pending_;  // pending: the branch that has not joined, or null
  const Parameter* bias_ = nullptr;
  double dropout_ = 0;
  uint64_t dropout_id_ = 0;
};

}  // namespace weft
