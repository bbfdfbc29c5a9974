// SPDX-License-Identifier: Apache-2.0
#include "model/layers/linear.h"

#include "model/packed_weights.h"

namespace weft {
namespace {

Placement placement_of(const Linear::Options& o) {
  switch (o.sharding) {
    case LinearSharding::ColumnParallel:
      return sharded(MeshAxis::Tp, o.divided_dim);
    case LinearSharding::RowParallel:
      return sharded(MeshAxis::Tp, o.shape.rank() - 1);
    case LinearSharding::None:
      return {};
  }
  throw InternalError("no such sharding");
}

}  // namespace

void linear_of_pass(ForwardContext& forward, LinearForward args) {
  require<InternalError>(forward.packed || !forward.batch_invariant, "a batch-invariant pass reads packed weights");
  if (forward.packed) args.packed = forward.packed->of(args.weight);
  linear_forward(forward.context(), args);
}

Linear::Linear(LayerScope& scope, const Options& o)
    : weight_(&scope.registry.add(
          {.name = o.name + ".weight",
           .shape = o.shape,
           .init = o.init,
           .decays = true,
           .placement = placement_of(o),
           .partial_over = o.sharding == LinearSharding::None ? scope.shards.sequence_axes() : AxisSet{}})),
      shards_(scope.shards),
      sharding_(o.sharding),
      replicated_in_(o.replicated_in),
      sums_parts_(o.sharding == LinearSharding::RowParallel && scope.shards.active()) {
  if (scope.lora.adapts(o.name)) {
    lora_.emplace(scope, Lora::Options{.name = o.name, .weight = o.shape, .placement = placement_of(o)});
  }
  if (!o.bias) return;
  // The bias of a row-parallel product is added once, to sequence-sharded tokens.
  const bool column_parallel = o.sharding == LinearSharding::ColumnParallel;
  bias_ = &scope.registry.add({.name = o.name + ".bias",
                               .shape = Shape(o.shape.dims().first(o.shape.rank() - 1)),
                               .placement = column_parallel ? placement_of(o) : Placement(),
                               .partial_over = column_parallel ? AxisSet{} : scope.shards.sequence_axes()});
}

int64_t Linear::columns() const { return weight_->local_shape().elements() / weight_->local_shape()[-1]; }

Var Linear::input(ForwardContext& forward, const Var& x, const Tokens& tokens) const {
  const bool gathers = sharding_ == LinearSharding::ColumnParallel && !replicated_in_;
  return gathers ? shards_.copy_or_gather(forward, x, tokens) : x;
}

Linear::Use Linear::use(Tape& tape) const {
  return {.weight = tape.use(weight_), .bias = tape.use(residual_bias() ? nullptr : bias_)};
}

Var Linear::result(const Tape& tape, const Tensor& input) const {
  const DType dtype = input.dtype();
  return tape.variable(tape.context().empty({input.rows(), columns()}, sums_parts_ ? accumulator_of(dtype) : dtype),
                       dtype);
}

Var Linear::output(ForwardContext& forward, const Var& result, const Tokens& tokens) const {
  return sums_parts_ ? shards_.reduce_or_scatter(forward, result, tokens) : result;
}

Lora::Use Linear::adapt(ForwardContext& forward, const Tensor& input, const Tokens& tokens,
                        const Tensor& result) const {
  return lora_ ? lora_->add(forward, input, tokens, result) : Lora::Use{};
}

Var Linear::operator()(ForwardContext& forward, const Var& given, const Tokens& tokens) const {
  Tape& tape = forward.tape;
  const Var x = input(forward, given, tokens), y = result(tape, x->value);
  const auto [weight, bias] = use(tape);
  linear_of_pass(forward, {.x = x->value, .weight = weight.value(), .bias = bias.value(), .y = y->value});
  const Lora::Use lora = adapt(forward, x->value, tokens, y->value);
  tape.push([&tape, x, y, weight = weight, bias = bias, lora] {
    const Gradient dx = tape.gradient(x);
    linear_backward(tape.context(), {.dy = y->gradient,
                                     .x = x->value,
                                     .weight = weight.value(),
                                     .dx = dx,
                                     .dweight = weight.gradient(),
                                     .dbias = bias.gradient()});
    lora.backward(tape.context(), y->gradient, {dx.tensor, Accumulate::Add});
  });
  return output(forward, y, tokens);
}

}  // namespace weft
