// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "data/batches/batch_plan.h"

namespace weft {

// A range of the stream whose ends no window crosses: one of several datasets.
struct StreamPart {
  int64_t begin = 0;
  int64_t tokens = 0;
  double weight = 1;
};

// Windows of `config.context_length` inputs out of a stream of `num_tokens`, or out of parts of a stream, mixed by
// weight (data/batches/mixture.h). Errors: ConfigError (BatchConfig::check_for_windows, MixtureOrder), DataError if the
// stream is too short for one window or, with drop_last, for one step.
std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, int64_t num_tokens, uint64_t seed);
std::shared_ptr<const BatchPlan> make_window_plan(const BatchConfig& config, std::span<const StreamPart> parts,
                                                  uint64_t seed);

std::shared_ptr<const BatchPlan> make_window_evaluation(const EvaluationOptions& options, int64_t num_tokens);

}  // namespace weft
