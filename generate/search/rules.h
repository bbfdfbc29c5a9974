// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "generate/search/search.h"

namespace weft {

// Rules that beam search and sampling share.

// Whether a text may outgrow the model's positions: that of a language model, under greedy search and sampling. Beam
// search compares sums over whole texts, and a translation that is so long has failed.
bool slides(const SearchConfig& config, const SearchInput& input);

// The most tokens (the end token counted) that a text may have: factor x source + extra, at least one, and more than
// the forced tokens. Unless its window slides, no more than the model's positions allow; then throws ConfigError if
// the prompt and the forced tokens do not fit them.
int64_t max_new_tokens(const SearchConfig& config, const SearchInput& input, int64_t max_length);

// Tokens that may not come next, sorted and distinct: suppressed tokens, the end token before min_length, and every
// token that would complete an n-gram that prompt and text already hold. (The n-gram rule never blocks the end token.)
std::vector<int32_t> blocked_tokens(const SearchConfig& config, const SearchTokens& tokens,
                                    std::span<const int32_t> prompt, std::span<const int32_t> text);

// The question for a text that continues `row`: its blocked tokens, or the forced token, and, with a
// repetition_penalty (Keskar et al. 2019, "CTRL", 4.1), the distinct tokens of the prompt and the text.
TokenQuestion question_of(const SearchConfig& config, const SearchTokens& tokens, const SearchInput& input,
                          std::span<const int32_t> text, int64_t row);

// Whether the model or a stop string ended the text, rather than a limit.
constexpr bool is_complete(Ending ending) { return ending == Ending::EndToken || ending == Ending::StopString; }

// `ranking` is the log-probability that the text is ranked by: the model's own, or its value after the penalty.
Hypothesis make_hypothesis(const SearchConfig& config, std::vector<int32_t> text,
                           std::vector<double> token_log_probabilities, double log_probability, double ranking,
                           Ending ending);

// Throws DivergenceError if the log_sum of a row is NaN or positive infinity.
void check_log_sums(std::span<const TokenAnswer> answers);

// The implementations of search_batch() for beam search, and for greedy search and sampling.
std::vector<NBest> beam_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                               const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener);
std::vector<NBest> sample_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                                 const SearchConfig& config, const SearchTokens& tokens,
                                 const SearchListener& listener);

}  // namespace weft
