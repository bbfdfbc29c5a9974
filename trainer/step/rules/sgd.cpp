// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/rules/update_rule.h"

namespace weft {
namespace {

class Sgd : public UpdateRule {
 public:
  explicit Sgd(double momentum) : momentum_(momentum) {}

  std::vector<std::string> buffers() const override { return {"momentum"}; }

  void update(Context& context, const RangeUpdate& range) const override {
    sgd_update(context, {.parameter = range.parameter,
                         .gradient = range.gradient,
                         .buffer = range.buffers[0],
                         .compute = range.compute,
                         .spans = range.spans,
                         .momentum = momentum_,
                         .step = range.step});
  }

 private:
  double momentum_;
};

}  // namespace

std::unique_ptr<const UpdateRule> make_sgd(const OptimizerConfig& config) {
  return std::make_unique<Sgd>(config.momentum);
}

}  // namespace weft
