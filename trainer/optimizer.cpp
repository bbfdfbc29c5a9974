#include "trainer/optimizer.h"

#include <cmath>

#include "kernels/optimizer.h"

namespace weft {

Optimizer::Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config)
    : context_(context), registry_(registry), config_(config) {
  const Tensor& flat = registry.flat_master();
  for (const auto& p : registry.parameters()) {
    const double decay = p->spec().decays ? config.weight_decay : 0;
    const int64_t begin = p->flat_offset(), end = begin + p->local_shape().elements();
    if (!spans_.empty() && spans_.back().weight_decay == decay) {
      spans_.back().end = end;  // the padding between two parameters is zero and stays zero
    } else {
      spans_.push_back({begin, end, decay});
    }
  }
  const auto add = [&](const char* name) { buffers_.push_back({name, context.zeros(flat.shape(), flat.dtype())}); };
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

void Optimizer::update(const StepState& state) {
  for (const Span& span : spans_) {
    const Shape shape{span.end - span.begin};
    const auto piece = [&](const Tensor& flat) { return flat.flat(span.begin, shape); };
    const Tensor parameter = piece(registry_.flat_master()), gradient = piece(registry_.flat_gradient());
    if (config_.kind == OptimizerKind::Sgd) {
      sgd_update(context_, {.parameter = parameter,
                            .gradient = gradient,
                            .buffer = piece(buffers_[0].flat),
                            .momentum = config_.momentum,
                            .weight_decay = span.weight_decay,
                            .state = &state});
    } else {
      adam_update(context_, {.parameter = parameter,
                             .gradient = gradient,
                             .moment1 = piece(buffers_[0].flat),
                             .moment2 = piece(buffers_[1].flat),
                             .beta1 = config_.beta1,
                             .beta2 = config_.beta2,
                             .epsilon = config_.epsilon,
                             .weight_decay = span.weight_decay,
                             .coupled = config_.kind == OptimizerKind::Adam,
                             .state = &state});
    }
  }
  registry_.refresh_values();
}

}  // namespace weft
