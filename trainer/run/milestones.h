// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "checkpoint/run_state.h"
#include "job/job.h"

namespace weft {

class BatchPlan;

// When a run is over: after its last step, or once so many evaluations in a row were not better than the best one; and
// not before the evaluation that a stop kept from being done.
struct RunEnd {
  int64_t max_steps = 0;
  int64_t patience = 0;  // 0: evaluations never end the run
  bool reached(const RunState& state) const;
};

// From train.max_steps, train.max_epochs and evaluation.patience.
RunEnd run_end(const JobConfig& job, const BatchPlan& plan);

// True if something that is done every so many steps or epochs (0: never) comes after the step just done.
bool is_due(const RunState& state, int64_t every_steps, int64_t every_epochs);

}  // namespace weft
