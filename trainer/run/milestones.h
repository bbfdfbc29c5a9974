// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "checkpoint/run_state.h"
#include "job/job.h"

namespace weft {

class BatchPlan;

// The condition that ends a run: its last step is done, or `patience` evaluations in a row were not better than the
// best one. An evaluation that a stop has left out comes first.
struct RunEnd {
  int64_t max_steps = 0;
  int64_t patience = 0;  // 0: evaluations never end the run
  bool reached(const RunState& state) const;
};

// Derived from train.max_steps, train.max_epochs and evaluation.patience. `beat` is called after each epoch whose steps
// are counted: where epochs differ, each of them is sorted for that, which takes ten seconds for 40 million pairs.
RunEnd run_end(const JobConfig& job, const BatchPlan& plan, const std::function<void()>& beat = {});

// True if an action that is due every `every_steps` steps or `every_epochs` epochs (0: never) is due after this step.
bool is_due(const RunState& state, int64_t every_steps, int64_t every_epochs);

}  // namespace weft
