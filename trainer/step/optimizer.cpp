// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/optimizer.h"

#include <cmath>

#include "parallel/parameters/parameter_patterns.h"

namespace weft {

Optimizer::Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config)
    : context_(context), registry_(registry), config_(config) {
  const FlatLayout& layout = registry.layout();
  const std::vector<Pace> each = paces();
  for (size_t i = 0; i < layout.trained_owned; ++i) spans_.push_back(update_spans(layout.owned[i], each));
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

std::vector<Optimizer::Pace> Optimizer::paces() const {
  std::vector<Pace> paces;
  for (const auto& p : registry_.parameters()) paces.push_back({.decay = p->spec().decays ? config_.weight_decay : 0});
  for (const ParameterGroup& group : config_.groups) {
    for (const Parameter* p : matching_parameters(registry_, group.match, "optimizer.groups.match")) {
      Pace& pace = paces[p->index()];
      pace.rate = group.learning_rate_scale;
      pace.decay = p->spec().decays ? group.weight_decay.value_or(config_.weight_decay) : 0;
    }
  }
  return paces;
}

// Padding between two parameters belongs to the one before it: it is zero and stays zero.
SharedUpdateSpans Optimizer::update_spans(const FlatRange& owned, const std::vector<Pace>& paces) const {
  std::vector<int64_t> begins;
  std::vector<Pace> spans;
  for (const auto& p : registry_.parameters()) {
    const FlatRange part = overlap(owned, p->range());
    if (part.size() <= 0 || (!spans.empty() && spans.back() == paces[p->index()])) continue;
    begins.push_back(begins.empty() ? 0 : part.begin - owned.begin);
    spans.push_back(paces[p->index()]);
  }
  if (begins.empty()) begins.push_back(0), spans.push_back({});
  std::vector<double> decays, rates;
  for (const Pace& span : spans) decays.push_back(span.decay), rates.push_back(span.rate);
  return share_update_spans(context_, std::move(begins), std::move(decays), std::move(rates));
}

void Optimizer::update_range(size_t owned, const StepState& state) {
  const FlatRange& range = registry_.layout().owned[owned];
  const auto piece = [&](const FlatBuffer& buffer) { return buffer.piece(range); };
  const Tensor parameter = piece(registry_.master()), gradient = piece(registry_.reduced_gradient());
  const Tensor compute = registry_.rounded_value(owned);
  if (config_.kind == OptimizerKind::Sgd) {
    sgd_update(context_, {.parameter = parameter,
                          .gradient = gradient,
                          .buffer = piece(buffers_[0].flat),
                          .compute = compute,
                          .spans = spans_[owned],
                          .momentum = config_.momentum,
                          .step = state});
    return;
  }
  adam_update(context_, {.parameter = parameter,
                         .gradient = gradient,
                         .moment1 = piece(buffers_[0].flat),
                         .moment2 = piece(buffers_[1].flat),
                         .compute = compute,
                         .spans = spans_[owned],
                         .beta1 = config_.beta1,
                         .beta2 = config_.beta2,
                         .epsilon = config_.epsilon,
                         .coupled = config_.kind == OptimizerKind::Adam,
                         .step = state});
}

void Optimizer::update(const StepState& state) {
  for (size_t i = 0; i < registry_.layout().trained_owned; ++i) {
    update_range(i, state);
    registry_.start_weight_gather(i);
  }
  registry_.finish_weight_gather();
}

}  // namespace weft
