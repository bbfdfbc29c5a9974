// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "generate/search/search.h"

namespace weft {

// Rules that beam search and sampling share.

// Tokens (the end token counted) that a text may have: factor x source + extra, as many as the
// model's positions allow, at least one, and one more than are forced where there is room.
// Throws ConfigError if the prompt and what is forced do not fit.
int64_t max_new_tokens(const SearchConfig& config, const SearchInput& input, int64_t max_length);

// Tokens that may not come next, sorted and distinct: suppressed tokens, the end token before min_length, and every
// token that would complete an n-gram which prompt and text hold already. (The end token never breaks the n-gram rule.)
std::vector<int32_t> blocked_tokens(const SearchConfig& config, const SearchTokens& tokens,
                                    std::span<const int32_t> prompt, std::span<const int32_t> text);

// The question of a text that continues `row`: with its blocked tokens, or the one that is forced, and, where there is
// a repetition_penalty (Keskar et al. 2019, "CTRL", 4.1), those of prompt and text.
TokenQuestion question_of(const SearchConfig& config, const SearchTokens& tokens, const SearchInput& input,
                          std::span<const int32_t> text, int64_t row);

// Ended by the model or by a stop string, not cut by a limit.
constexpr bool is_complete(Ending ending) { return ending == Ending::EndToken || ending == Ending::StopString; }

// `ranking` is the log-probability that the text is ranked by: the model's own, or what a penalty makes of it.
Hypothesis make_hypothesis(const SearchConfig& config, std::vector<int32_t> text,
                           std::vector<double> token_log_probabilities, double log_probability, double ranking,
                           Ending ending);

// DivergenceError if some row's log_sum is NaN or infinite.
void check_log_sums(std::span<const TokenAnswer> answers);

// search_batch() by each method.
std::vector<NBest> beam_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                               const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener);
std::vector<NBest> sample_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                                 const SearchConfig& config, const SearchTokens& tokens,
                                 const SearchListener& listener);

}  // namespace weft
