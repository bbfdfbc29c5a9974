#pragma once
#include "data/batch_plan.h"

namespace weft {

// Windows of `config.context` inputs out of a stream of `num_tokens`. Errors: ConfigError
// (BatchConfig::check_for_windows), DataError if the stream is too short for one window or, with last: drop, for one
// step.
std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, int64_t num_tokens, uint64_t seed);

std::shared_ptr<const BatchPlan> make_window_evaluation(const EvaluationOptions& options, int64_t num_tokens);

}  // namespace weft
