// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "trainer/step/rules/update_rule.h"

namespace weft {
namespace {

class Adam : public UpdateRule {
 public:
  // `coupled`: weight decay is added to the gradient (L2), not taken from the parameter.
  Adam(const OptimizerConfig& config, bool coupled)
      : beta1_(config.beta1), beta2_(config.beta2), epsilon_(config.epsilon), coupled_(coupled) {}

  std::vector<std::string> buffers() const override { return {"moment1", "moment2"}; }

  void correct_bias(StepState& state, int64_t update) const override {
    state.bias_correction1 = 1 - std::pow(beta1_, static_cast<double>(update));
    state.bias_correction2 = 1 - std::pow(beta2_, static_cast<double>(update));
  }

  void update(Context& context, const RangeUpdate& range) const override {
    adam_update(context, {.parameter = range.parameter,
                          .gradient = range.gradient,
                          .moment1 = range.buffers[0],
                          .moment2 = range.buffers[1],
                          .compute = range.compute,
                          .spans = range.spans,
                          .beta1 = beta1_,
                          .beta2 = beta2_,
                          .epsilon = epsilon_,
                          .coupled = coupled_,
                          .step = range.step});
  }

 private:
  double beta1_, beta2_, epsilon_;
  bool coupled_;
};

}  // namespace

std::unique_ptr<const UpdateRule> make_adamw(const OptimizerConfig& config) {
  return std::make_unique<Adam>(config, false);
}

std::unique_ptr<const UpdateRule> make_adam(const OptimizerConfig& config) {
  return std::make_unique<Adam>(config, true);
}

}  // namespace weft
