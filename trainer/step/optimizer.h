// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "checkpoint/parameters.h"
#include "job/optimizer_config.h"
#include "kernels/ops/optimizer.h"
#include "parallel/parameters/parameter.h"

namespace weft {

// Updates the master weights that this rank owns from their reduced gradients, and publishes them to the other
// replicas range by range; what is frozen it passes over. Walks the registry once, at construction, into spans of one
// weight decay and one rate.
class Optimizer {
 public:
  // ConfigError if a pattern of config.groups matches no parameter.
  Optimizer(Context& context, ParameterRegistry& registry, const OptimizerConfig& config);
  // Reads learning rate, clip, bias corrections and skip from the state; then refreshes the compute values. The caller
  // has awaited what copies the state before (await_snapshots()).
  void update(const StepState& state);
  // Sets the bias corrections for update number `update` (from 1; skipped steps do not count).
  void correct_bias(StepState& state, int64_t update) const;
  // Moments (moment1, moment2 or momentum), laid out as the parameters; of what this rank owns and trains.
  const std::vector<NamedBuffer>& buffers() const { return buffers_; }

 private:
  // How a parameter is updated: its weight decay, and the factor of its learning rate.
  struct Pace {
    double decay = 0, rate = 1;
    bool operator==(const Pace&) const = default;
  };
  std::vector<Pace> paces() const;  // of each parameter
  SharedUpdateSpans update_spans(const FlatRange& owned, const std::vector<Pace>& paces) const;
  void update_range(size_t owned, const StepState& state);

  Context& context_;
  ParameterRegistry& registry_;
  OptimizerConfig config_;
  std::vector<SharedUpdateSpans> spans_;  // of each owned range that is trained
  std::vector<NamedBuffer> buffers_;
};

}  // namespace weft
