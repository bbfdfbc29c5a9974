// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "data/batches/batch_plan.h"
#include "data/batches/mixture.h"

namespace weft {

// Lengths are as stored: the target with its bos and eos, so that length - 1 tokens are predicted. Memory: 8 bytes a
// pair, and 4 more for each of the two epochs that are kept. DataError if a source is empty, a target has fewer than
// 2 tokens (unless `joined`), or all pairs together do not fill one step (drop_last).
// `joined`: prompts and answers, which a language model reads as one sequence. The answer of n tokens that follows a
// prompt of m gives m + n - 1 inputs, of which the last n are scored: the prompt's own tokens are context.
// `parts`: datasets one after the other, mixed by weight (data/batches/mixture.h); empty: all pairs are one dataset.
struct PairLengths {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
  bool joined = false;
  std::vector<MixturePart> parts = {};
};
// The pair as a sequence of a plan.
PlannedSequence planned_pair(const PairLengths& lengths, int64_t pair);
// DataError if there is no pair, or more than plans can count.
void check_pair_count(const PairLengths& lengths);

std::shared_ptr<const BatchPlan> make_pair_plan(const BatchConfig& config, PairLengths lengths, uint64_t seed);
std::shared_ptr<const BatchPlan> make_pair_evaluation(const EvaluationOptions& options, PairLengths lengths);

}  // namespace weft
