// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "job/optimizer_config.h"
#include "kernels/ops/optimizer.h"

namespace weft {

// The update of one owned range: pieces of the flat buffers, all of the same length.
struct RangeUpdate {
  Tensor parameter, gradient;
  std::vector<Tensor> buffers;  // in the order of UpdateRule::buffers()
  Tensor compute;               // absent if products read the masters
  SharedUpdateSpans spans;
  StepState step;
};

// One kind of optimizer: the buffers that it keeps between updates for every element, and its arithmetic. A rule sees
// elements and no shapes, since ZeRO may cut an owned range inside a matrix (docs/architecture.md says what a rule that
// needs whole matrices adds).
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  // The names of the rule's buffers in a checkpoint.
  virtual std::vector<std::string> buffers() const = 0;
  // Sets the bias corrections for update number `update`, from 1; a rule without any leaves the state as it is.
  virtual void correct_bias(StepState&, int64_t) const {}
  virtual void update(Context& context, const RangeUpdate& range) const = 0;
};

std::unique_ptr<const UpdateRule> make_update_rule(const OptimizerConfig& config);

// Defined in rules/adam.cpp and rules/sgd.cpp; make_update_rule() chooses among them.
std::unique_ptr<const UpdateRule> make_adamw(const OptimizerConfig& config);
std::unique_ptr<const UpdateRule> make_adam(const OptimizerConfig& config);
std::unique_ptr<const UpdateRule> make_sgd(const OptimizerConfig& config);

}  // namespace weft
