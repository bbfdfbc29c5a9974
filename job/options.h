#pragma once
#include "job/job.h"
#include "parallel/parameter.h"
#include "parallel/watchdog.h"

namespace weft {

// What a job says, in the terms of the parts that it configures.
Precision precision_of(const JobConfig& job);
Sharding sharding_of(const JobConfig& job);
PhaseBudgets phase_budgets(const JobConfig& job);

}  // namespace weft
