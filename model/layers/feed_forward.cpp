// SPDX-License-Identifier: Apache-2.0
#include "model/layers/feed_forward.h"

namespace weft {
namespace {

// The inputs of the joint backward of the two products.
struct SavedFeedForward {
  Var x, y;
  Tensor pre, hidden;  // before and after activation and dropout
  Activation activation = Activation::None;
  Dropout dropout;
  Linear::Use up, down;
  Lora::Use up_lora, down_lora;
};

void backward(const Tape& tape, const SavedFeedForward& s) {
  Context& context = tape.context();
  const Tensor dpre = context.empty(s.hidden.shape(), s.hidden.dtype());
  // The adapter adds its part of the gradient of `hidden` first: the product then turns that into the gradient of
  // `pre`.
  s.down_lora.backward(context, s.y->gradient, {dpre, Accumulate::Overwrite});
  linear_backward(context, {.dy = s.y->gradient,
                            .x = s.hidden,
                            .weight = s.down.weight.value(),
                            .dx = {dpre, s.down_lora.lora ? Accumulate::Add : Accumulate::Overwrite},
                            .dweight = s.down.weight.gradient(),
                            .dbias = s.down.bias.gradient(),
                            .input_activation = s.activation,
                            .input_pre = s.pre,
                            .input_dropout = s.dropout,
                            .input_dbias = s.up.bias.gradient()});
  const Gradient dx = tape.gradient(s.x);
  linear_backward(
      context,
      {.dy = dpre, .x = s.x->value, .weight = s.up.weight.value(), .dx = dx, .dweight = s.up.weight.gradient()});
  s.up_lora.backward(context, dpre, {dx.tensor, Accumulate::Add});
}

}  // namespace

FeedForward::FeedForward(LayerScope& scope, const std::string& name)
    : Branch(scope, name),
      up_(scope, {.name = name + ".up",
                  .shape = {scope.config.derived_ffn(), scope.config.width},
                  .init = scope.weight_init(scope.config.width, scope.config.derived_ffn()),
                  .bias = scope.config.bias,
                  .sharding = LinearSharding::ColumnParallel}),
      down_(scope, {.name = name + ".down",
                    .shape = {scope.config.width, scope.config.derived_ffn()},
                    .init = scope.residual_init(scope.config.derived_ffn(), scope.config.width),
                    .bias = scope.config.bias,
                    .sharding = LinearSharding::RowParallel}),
      shards_(scope.shards),
      activation_(scope.config.activation),
      dropout_(scope.config.dropout.ffn),
      dropout_id_(scope.dropout_id(name + ".up")) {}

Var FeedForward::operator()(ForwardContext& forward, const Var& input, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  SavedFeedForward s{
      .x = up_.input(forward, input, tokens), .activation = activation_, .up = up_.use(tape), .down = down_.use(tape)};
  const Tensor& x = s.x->value;
  const Shape shape{x.rows(), up_.columns()};
  s.hidden = tape.context().empty(shape, x.dtype());
  if (activation_ != Activation::None && tape.recording()) s.pre = tape.context().empty(shape, x.dtype());
  s.dropout = forward.dropout(dropout_, dropout_id_, tokens->replicated.ids);
  s.dropout.first_channel = shards_.first(up_.columns());
  if (up_.adapted()) {  // the adapter's output is added before the activation
    const Tensor pre = s.pre ? s.pre : s.hidden;
    linear_of_pass(forward, {.x = x, .weight = s.up.weight.value(), .bias = s.up.bias.value(), .y = pre});
    s.up_lora = up_.adapt(forward, x, tokens, pre);
    activate(tape.context(), {.pre = pre, .activation = activation_, .dropout = s.dropout, .y = s.hidden});
  } else {
    linear_of_pass(forward, {.x = x,
                             .weight = s.up.weight.value(),
                             .bias = s.up.bias.value(),
                             .activation = activation_,
                             .dropout = s.dropout,
                             .y = s.hidden,
                             .pre = s.pre});
  }
  s.y = down_.result(tape, s.hidden);
  linear_of_pass(forward,
                 {.x = s.hidden, .weight = s.down.weight.value(), .bias = s.down.bias.value(), .y = s.y->value});
  s.down_lora = down_.adapt(forward, s.hidden, tokens, s.y->value);
  const Var y = s.y;
  tape.push([&tape, s = std::move(s)] { backward(tape, s); });
  return down_.output(forward, y, tokens);
}

}  // namespace weft
