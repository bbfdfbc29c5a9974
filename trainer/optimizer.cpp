#include "trainer/optimizer.h"

#include <cmath>

#include "kernels/optimizer.h"

namespace weft {

Optimizer::Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config)
    : context_(context), registry_(registry), config_(config) {
  for (size_t i = 0; i < registry.layout().owned.size(); ++i) {
    const FlatRange& owned = registry.layout().owned[i];
    const size_t first = spans_.size();
    for (const auto& p : registry.parameters()) {
      const double decay = p->spec().decays ? config.weight_decay : 0;
      const FlatRange part = overlap(owned, p->range());
      if (part.size() <= 0) continue;
      if (spans_.size() > first && spans_.back().weight_decay == decay) {
        spans_.back().range.end = part.end;  // the padding between two parameters is zero and stays zero
      } else {
        spans_.push_back({i, part, decay});
      }
    }
  }
  const auto add = [&](const char* name) { buffers_.push_back({name, registry.make_state()}); };
  if (config.kind == OptimizerKind::Sgd) {
    add("momentum");
  } else {
    add("moment1"), add("moment2");
  }
}

void Optimizer::correct_bias(StepState& state, int64_t update) const {
  state.bias_correction1 = 1 - std::pow(config_.beta1, static_cast<double>(update));
  state.bias_correction2 = 1 - std::pow(config_.beta2, static_cast<double>(update));
}

void Optimizer::update_span(const Span& span, const StepState& state) {
  const auto piece = [&](const FlatBuffer& buffer) { return buffer.piece(span.range); };
  const Tensor parameter = piece(registry_.master()), gradient = piece(registry_.reduced_gradient());
  if (config_.kind == OptimizerKind::Sgd) {
    sgd_update(context_, {.parameter = parameter,
                          .gradient = gradient,
                          .buffer = piece(buffers_[0].flat),
                          .momentum = config_.momentum,
                          .weight_decay = span.weight_decay,
                          .step = state});
    return;
  }
  adam_update(context_, {.parameter = parameter,
                         .gradient = gradient,
                         .moment1 = piece(buffers_[0].flat),
                         .moment2 = piece(buffers_[1].flat),
                         .beta1 = config_.beta1,
                         .beta2 = config_.beta2,
                         .epsilon = config_.epsilon,
                         .weight_decay = span.weight_decay,
                         .coupled = config_.kind == OptimizerKind::Adam,
                         .step = state});
}

void Optimizer::update(const StepState& state) {
  auto span = spans_.begin();
  for (size_t i = 0; i < registry_.layout().owned.size(); ++i) {
    for (; span != spans_.end() && span->owned == i; ++span) update_span(*span, state);
    registry_.start_weight_gather(i);
  }
  registry_.finish_weight_gather();
}

}  // namespace weft
