#pragma once
#include <cstdint>
#include <span>

#include "evaluate/search/config.h"

namespace weft {

// A uniform number in (0, 1) for one token of one text: Philox keyed by the seed, at (input, sample, position). So a
// text does not depend on the batch that it is drawn in.
double sampling_uniform(int64_t seed, int64_t input, int64_t sample, int64_t position);

// Draws a token by inverting the cumulative distribution at `uniform`. In this order: blocked tokens (sorted) have
// probability 0; logits are divided by the temperature; top_k keeps the k most probable (Fan et al. 2018); top_p keeps
// the fewest most probable whose share of what is left reaches p, one at least (Holtzman et al. 2020). Of equally
// probable tokens the smaller one counts as more probable. Temperature 0 takes the most probable token. -1: no token
// is left.
int32_t sample_token(std::span<const float> logits, const SearchConfig& config, std::span<const int32_t> blocked,
                     double uniform);

}  // namespace weft
