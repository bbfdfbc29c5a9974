// SPDX-License-Identifier: Apache-2.0
#include "model/layers/lora.h"

#include <algorithm>
#include <cmath>

#include "base/name_patterns.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/matmul.h"
#include "model/layers/linear.h"

namespace weft {
namespace {

bool names(const std::string& target, const std::string& product) {
  return matches_pattern(target, product) || matches_pattern("*." + target, product);
}

// Returns dropout(scale x), computed by add_positions without positions.
Tensor dropped(Context& context, const Tensor& x, double scale, const Dropout& dropout) {
  const Tensor y = context.empty(x.shape(), x.dtype());
  add_positions_forward(context, {.x = x, .scale = scale, .dropout = dropout, .y = y});
  return y;
}

Tensor scaled(Context& context, const Tensor& x, double scale) { return dropped(context, x, scale, {}); }

Tensor adapter_input(Context& context, const Tensor& x, const Dropout& dropout) {
  return dropout.active() ? dropped(context, x, 1, dropout) : x;
}

Shape with_columns(const Shape& shape, int64_t columns) {
  Shape other = shape;
  other[-1] = columns;
  return other;
}

}  // namespace

bool LoraSites::adapts(const std::string& product) {
  products_.push_back(product);
  const auto named = [&](const std::string& target) { return names(target, product); };
  return config_.active() && std::ranges::any_of(config_.targets, named);
}

void LoraSites::check() const {
  for (const std::string& target : config_.targets) {
    const auto named = [&](const std::string& product) { return names(target, product); };
    if (std::ranges::none_of(products_, named)) require_match("lora.targets", target, "product", products_);
  }
}

// A is drawn as peft draws it, uniform within 1/sqrt(in) (He et al. 2015 with a = sqrt(5)); B begins at zero, so that
// the adapted model begins as the model that it adapts.
Lora::Lora(LayerScope& scope, const Options& o)
    : shards_(scope.shards),
      divides_inputs_(o.placement.dim(MeshAxis::Tp) == o.weight.rank() - 1),
      sees_residual_tokens_(!o.placement.dim(MeshAxis::Tp)),
      scale_(scope.lora.config().scale()),
      dropout_(scope.lora.config().dropout),
      dropout_id_(scope.dropout_id(o.name + ".lora")) {
  const int64_t rank = scope.lora.config().rank, in = o.weight[-1];
  const bool divides_outputs = !sees_residual_tokens_ && !divides_inputs_, divided = scope.shards.active();
  const bool some_rows = sees_residual_tokens_ && scope.shards.sequence();
  const AxisSet tp = {MeshAxis::Tp};
  a_ = &scope.registry.add({.name = o.name + std::string(kLoraA),
                            .shape = {rank, in},
                            .init = Init::uniform(1 / std::sqrt(static_cast<double>(in))),
                            .decays = true,
                            .placement = divides_inputs_ ? sharded(MeshAxis::Tp, 1) : Placement(),
                            .partial_over = some_rows || (divides_outputs && divided) ? tp : AxisSet{}});
  b_ = &scope.registry.add({.name = o.name + std::string(kLoraB),
                            .shape = with_columns(o.weight, rank),
                            .init = Init::zeros(),
                            .decays = true,
                            .placement = divides_outputs ? o.placement : Placement(),
                            .partial_over = some_rows || (divides_inputs_ && divided) ? tp : AxisSet{}});
}

Lora::Use Lora::add(ForwardContext& forward, const Tensor& x, const Tokens& tokens, const Tensor& y) const {
  Context& context = forward.context();
  Use use{.lora = this, .a = forward.tape.use(a_), .b = forward.tape.use(b_), .x = x};
  use.dropout =
      forward.dropout(dropout_, dropout_id_, sees_residual_tokens_ ? tokens->residual.ids : tokens->replicated.ids);
  if (divides_inputs_) use.dropout.first_channel = shards_.first(x.columns());
  const Tensor hidden = context.empty({x.rows(), a_->local_shape()[0]}, x.dtype());
  linear_of_pass(forward, {.x = adapter_input(context, x, use.dropout), .weight = use.a.value(), .y = hidden});
  use.hidden = scaled(context, hidden, scale_);
  if (forward.batch_invariant) {
    const Tensor delta = context.empty(y.shape(), y.dtype());
    linear_of_pass(forward, {.x = use.hidden, .weight = use.b.value(), .y = delta});
    add_scaled(context, delta, 1, y);
  } else {
    matmul(context, {.a = use.hidden, .b = use.b.value(), .c = y, .transpose_b = true, .mode = Accumulate::Add});
  }
  return use;
}

void Lora::Use::backward(Context& context, const Tensor& dy, const Gradient& dx) const {
  if (!lora) return;
  const Tensor dhidden = context.empty(hidden.shape(), hidden.dtype());
  linear_backward(
      context,
      {.dy = dy, .x = hidden, .weight = b.value(), .dx = {dhidden, Accumulate::Overwrite}, .dweight = b.gradient()});
  LinearBackward back{.dy = scaled(context, dhidden, lora->scale_),
                      .x = adapter_input(context, x, dropout),
                      .weight = a.value(),
                      .dx = dx,
                      .dweight = a.gradient()};
  if (!dx || !dropout.active()) return linear_backward(context, back);
  const auto like_dx = [&] { return context.empty(dx.tensor.shape(), dx.tensor.dtype()); };
  back.dx = {like_dx(), Accumulate::Overwrite};
  linear_backward(context, back);
  const bool overwrite = dx.mode == Accumulate::Overwrite;
  const Tensor part = overwrite ? dx.tensor : like_dx();
  add_positions_backward(context, {.dy = back.dx.tensor, .scale = 1, .dropout = dropout, .dx = part});
  if (!overwrite) add_scaled(context, part, 1, dx.tensor);
}

}  // namespace weft
