#include "job/options.h"

namespace weft {

Precision precision_of(const JobConfig& job) {
  return job.train.precision == ComputePrecision::Bf16 ? Precision::Bf16 : Precision::Fp32;
}

Sharding sharding_of(const JobConfig& job) {
  return {.zero = static_cast<ZeroStage>(job.parallel.zero_stage),
          .bucket_bytes = static_cast<int64_t>(job.parallel.gradient_bucket_mib * (1 << 20))};
}

PhaseBudgets phase_budgets(const JobConfig& job) {
  const TimeoutsConfig& t = job.timeouts;
  return {.init = t.init_seconds, .step = t.step_seconds, .save = t.save_seconds, .evaluate = t.evaluate_seconds};
}

}  // namespace weft
