// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace weft::cpu {

struct Candidate {
  float logit;
  int32_t token;
};
// The order of candidates everywhere: the more probable first; of two that are equal, the smaller token.
constexpr bool better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// log(sum(exp(scale x logits))). -inf if every logit is -inf; NaN if one is NaN or +inf. `scale` > 0.
// Reads the logits twice, in a fixed order.
double log_sum_exp(std::span<const float> logits, double scale = 1);

// The `count` best tokens that are not in `blocked` (sorted, distinct) and not at -inf, best first; fewer if there
// are no more. One pass with a rising threshold.
std::vector<Candidate> best_tokens(std::span<const float> logits, int64_t count, std::span<const int32_t> blocked);

}  // namespace weft::cpu
