// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/optimizer.h"

#include "parallel/parameters/parameter_patterns.h"
#include "trainer/step/rules/update_rule.h"

namespace weft {

Optimizer::Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config)
    : context_(context), registry_(registry), config_(config), rule_(make_update_rule(config)) {
  const FlatLayout& layout = registry.layout();
  const std::vector<Pace> each = paces();
  for (size_t i = 0; i < layout.trained_owned; ++i) spans_.push_back(update_spans(layout.owned[i], each));
  for (const std::string& name : rule_->buffers()) buffers_.push_back({name, registry.make_state()});
}

Optimizer::~Optimizer() = default;

void Optimizer::correct_bias(StepState& state, int64_t update) const { rule_->correct_bias(state, update); }

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

// Padding between two parameters belongs to the parameter before it: the padding is zero and stays zero.
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
  RangeUpdate update{.parameter = registry_.master().piece(range),
                     .gradient = registry_.reduced_gradient().piece(range),
                     .buffers = {},
                     .compute = registry_.rounded_value(owned),
                     .spans = spans_[owned],
                     .step = state};
  for (const NamedBuffer& buffer : buffers_) update.buffers.push_back(buffer.flat.piece(range));
  rule_->update(context_, update);
}

void Optimizer::update(const StepState& state) {
  registry_.await_weights();
  for (size_t i = registry_.layout().trained_owned; i-- > 0;) {
    update_range(i, state);
    registry_.note_updated(i);
  }
}

}  // namespace weft
