// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "generate/search/config.h"
#include "generate/search/next_token_model.h"

namespace weft {

// A uniform number in (0, 1) for one token of one text: Philox keyed by the seed, at (input, sample, position). So a
// a text does not depend on the batch that it is drawn in.
double sampling_uniform(int64_t seed, int64_t input, int64_t sample, int64_t position);

struct SampledToken {
  int32_t token = -1;          // -1: no token is left
  double log_probability = 0;  // under the model's own distribution
};

// Draws a token for each question by inverting the cumulative distribution at its uniform. In this order: blocked
// tokens have probability 0; the repetition penalty changes logits; they are divided by the temperature; top_k keeps
// the k most probable (Fan et al. 2018); top_p keeps the fewest most probable whose share of what is left reaches p,
// one at least (Holtzman et al. 2020). Of equally probable tokens the smaller one counts as more probable. Temperature
// 0, like any below 1e-10, takes the most probable token. DivergenceError if the model's logits are not finite.
std::vector<SampledToken> sample_tokens(NextTokenModel& model, const std::vector<TokenQuestion>& questions,
                                        const SearchConfig& config);

}  // namespace weft
