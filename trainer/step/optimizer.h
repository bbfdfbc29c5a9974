// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <vector>

#include "checkpoint/parameters.h"
#include "job/optimizer_config.h"
#include "kernels/ops/optimizer.h"
#include "parallel/parameters/parameter.h"

namespace weft {

class UpdateRule;  // trainer/step/rules/update_rule.h

// Updates the master weights that this rank owns from their reduced gradients, by the rule of the configured kind, and
// publishes them to the other replicas range by range, in the order in which the next forward pass reads them. Frozen
// parameters are left out. The constructor walks the registry once and joins neighbours with equal weight decay and
// learning rate into spans.
class Optimizer {
 public:
  // Throws ConfigError if a pattern of config.groups matches no parameter.
  Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config);
  ~Optimizer();
  // Reads learning rate, clip, bias corrections and skip from the state; then refreshes the compute weights, which
  // readers wait for (parallel/parameters/weight_gather.h). The caller has awaited the snapshots that are being taken
  // of the masters and moments (await_snapshots()).
  void update(const StepState& state);
  // Sets the bias corrections of the rule for update number `update`, from 1; skipped steps do not count.
  void correct_bias(StepState& state, int64_t update) const;
  // Optimizer state for the parameters that this rank owns and trains, in parameter order.
  const std::vector<NamedBuffer>& buffers() const { return buffers_; }

 private:
  struct Pace {
    double decay = 0;  // weight decay
    double rate = 1;   // multiplies the learning rate
    bool operator==(const Pace&) const = default;
  };
  std::vector<Pace> paces() const;  // by parameter index
  SharedUpdateSpans update_spans(const FlatRange& owned, const std::vector<Pace>& paces) const;
  void update_range(size_t owned, const StepState& state);

  Context& context_;
  ParameterRegistry& registry_;
  OptimizerConfig config_;
  std::unique_ptr<const UpdateRule> rule_;
  std::vector<SharedUpdateSpans> spans_;  // by trained owned range
  std::vector<NamedBuffer> buffers_;
};

}  // namespace weft
