// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "data/batches/batch_plan.h"

namespace weft {

// A stretch of the stream that windows do not leave: a dataset of several.
struct StreamPart {
  int64_t begin = 0;
  int64_t tokens = 0;
  double weight = 1;
};

// Windows of `config.context_length` inputs out of a stream of `num_tokens`, or out of the parts of one, mixed by
// weight (data/batches/mixture.h). Errors: ConfigError (BatchConfig::check_for_windows, MixtureOrder), DataError if the
// stream is too short for one window or, with drop_last, for one step.
std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, int64_t num_tokens, uint64_t seed);
std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, std::span<const StreamPart> parts,
                                                  uint64_t seed);

std::shared_ptr<const BatchPlan> make_window_evaluation(const EvaluationOptions& options, int64_t num_tokens);

}  // namespace weft
