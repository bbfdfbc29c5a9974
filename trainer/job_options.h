#pragma once
#include "parallel/watchdog.h"
#include "trainer/job.h"
#include "trainer/training_step.h"

namespace weft {

// What a job says, in the terms of the parts that it configures.
Precision precision_of(const JobConfig& job);
Sharding sharding_of(const JobConfig& job);
StepOptions step_options(const JobConfig& job);
PhaseBudgets phase_budgets(const JobConfig& job);

}  // namespace weft
