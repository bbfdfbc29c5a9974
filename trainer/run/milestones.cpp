// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/milestones.h"

#include <algorithm>

#include "data/batches/batch_plan.h"

namespace weft {

bool RunEnd::reached(const RunState& state) const {
  if (state.evaluation_left) return false;
  return state.step >= max_steps || (patience > 0 && state.evaluations_since_best >= patience);
}

RunEnd run_end(const JobConfig& job, const BatchPlan& plan, const std::function<void()>& beat) {
  RunEnd end{.max_steps = job.train.max_steps, .patience = job.evaluation.patience};
  if (job.train.max_epochs == 0) return end;
  int64_t steps = 0;
  for (int64_t e = 0; e < job.train.max_epochs; ++e) {
    steps += plan.steps_per_epoch(e);
    if (beat) beat();
  }
  end.max_steps = end.max_steps > 0 ? std::min(steps, end.max_steps) : steps;
  return end;
}

bool is_due(const RunState& state, int64_t every_steps, int64_t every_epochs) {
  const bool by_steps = every_steps > 0 && state.step % every_steps == 0;
  const bool by_epochs = every_epochs > 0 && state.epoch_end && state.position.epoch % every_epochs == 0;
  return by_steps || by_epochs;
}

}  // namespace weft
