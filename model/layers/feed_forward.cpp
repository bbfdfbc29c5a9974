// SPDX-License-Identifier: Apache-2.0
#include "model/layers/feed_forward.h"

#include "kernels/ops/activation.h"

namespace weft {
namespace {

// With a gate: all gates, then what they gate. Each is divided over tp as the features of an ungated layer are.
Linear::Options up_options(const LayerScope& scope, const std::string& name) {
  const TransformerConfig& c = scope.config;
  const int64_t features = c.derived_ffn();
  return {.name = name,
          .shape = c.gated ? Shape{2, features, c.width} : Shape{features, c.width},
          .init = scope.weight_init(c.width, features),
          .bias = c.bias,
          .sharding = LinearSharding::ColumnParallel,
          .divided_dim = c.gated ? 1 : 0};
}

}  // namespace

// The inputs of the joint backward of the two products.
struct FeedForward::Saved {
  Var x, y;
  Tensor pre, hidden;  // before and after activation (or gate) and dropout
  Dropout dropout;
  Linear::Use up, down;
  Lora::Use up_lora, down_lora;
};

FeedForward::FeedForward(LayerScope& scope, const std::string& name)
    : Branch(scope, name),
      up_(scope, up_options(scope, name + ".up")),
      down_(scope, {.name = name + ".down",
                    .shape = {scope.config.width, scope.config.derived_ffn()},
                    .init = scope.residual_init(scope.config.derived_ffn(), scope.config.width),
                    .bias = scope.config.bias,
                    .sharding = LinearSharding::RowParallel}),
      shards_(scope.shards),
      activation_(scope.config.activation),
      gated_(scope.config.gated),
      dropout_(scope.config.dropout.ffn),
      dropout_id_(scope.dropout_id(name + ".up")) {}

// Fills s.pre, unless nothing reads it again, and s.hidden.
void FeedForward::make_hidden(ForwardContext& forward, Saved& s, const Tokens& tokens) const {
  Context& context = forward.context();
  const Tensor& x = s.x->value;
  const Shape shape{x.rows(), up_.columns() / (gated_ ? 2 : 1)};
  s.hidden = context.empty(shape, x.dtype());
  s.dropout = forward.dropout(dropout_, dropout_id_, tokens->replicated.ids);
  s.dropout.first_channel = shards_.first(shape[1]);
  if (gated_ || (activation_ != Activation::None && forward.tape.recording())) {
    s.pre = context.empty({x.rows(), up_.columns()}, x.dtype());
  }
  if (!gated_ && !up_.adapted()) {
    return linear_of_pass(forward, {.x = x,
                                    .weight = s.up.weight.value(),
                                    .bias = s.up.bias.value(),
                                    .activation = activation_,
                                    .dropout = s.dropout,
                                    .y = s.hidden,
                                    .pre = s.pre});
  }
  // An adapter's output is added before the activation.
  const Tensor pre = s.pre ? s.pre : s.hidden;
  linear_of_pass(forward, {.x = x, .weight = s.up.weight.value(), .bias = s.up.bias.value(), .y = pre});
  s.up_lora = up_.adapt(forward, x, tokens, pre);
  if (gated_) {
    gate_forward(context, {.pre = pre, .activation = activation_, .dropout = s.dropout, .y = s.hidden});
  } else {
    activate(context, {.pre = pre, .activation = activation_, .dropout = s.dropout, .y = s.hidden});
  }
}

// The gradient of `pre`. The backward of the second product makes it in one operation unless there is a gate.
Tensor FeedForward::pre_gradient(Context& context, const Saved& s) const {
  const Tensor dhidden = context.empty(s.hidden.shape(), s.hidden.dtype());
  // The adapter adds its part of the gradient of `hidden` first: the product then turns that into the gradient of
  // `pre`.
  s.down_lora.backward(context, s.y->gradient, {dhidden, Accumulate::Overwrite});
  LinearBackward back{.dy = s.y->gradient,
                      .x = s.hidden,
                      .weight = s.down.weight.value(),
                      .dx = {dhidden, s.down_lora.lora ? Accumulate::Add : Accumulate::Overwrite},
                      .dweight = s.down.weight.gradient(),
                      .dbias = s.down.bias.gradient()};
  if (!gated_) {
    back.input_activation = activation_, back.input_pre = s.pre, back.input_dropout = s.dropout;
    back.input_dbias = s.up.bias.gradient();
  }
  linear_backward(context, back);
  if (!gated_) return dhidden;
  gate_backward(context, {.dy = dhidden, .pre = s.pre, .activation = activation_, .dropout = s.dropout, .dpre = s.pre});
  return s.pre;
}

void FeedForward::backward(const Tape& tape, const Saved& s) const {
  Context& context = tape.context();
  const Tensor dpre = pre_gradient(context, s);
  const Gradient dx = tape.gradient(s.x);
  linear_backward(context, {.dy = dpre,
                            .x = s.x->value,
                            .weight = s.up.weight.value(),
                            .dx = dx,
                            .dweight = s.up.weight.gradient(),
                            .dbias = gated_ ? s.up.bias.gradient() : Gradient{}});
  s.up_lora.backward(context, dpre, {dx.tensor, Accumulate::Add});
}

Var FeedForward::operator()(ForwardContext& forward, const Var& input, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  Saved s{.x = up_.input(forward, input, tokens), .up = up_.use(tape), .down = down_.use(tape)};
  make_hidden(forward, s, tokens);
  s.y = down_.result(tape, s.hidden);
  linear_of_pass(forward,
                 {.x = s.hidden, .weight = s.down.weight.value(), .bias = s.down.bias.value(), .y = s.y->value});
  s.down_lora = down_.adapt(forward, s.hidden, tokens, s.y->value);
  const Var y = s.y;
  tape.push([this, &tape, s = std::move(s)] { backward(tape, s); });
  return down_.output(forward, y, tokens);
}

}  // namespace weft
