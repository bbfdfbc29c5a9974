#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "evaluate/search/search.h"

namespace weft {

// Rules that beam search and sampling share.

// Tokens (the end token counted) that a text may have: factor x source + extra, as many as the
// model's positions allow, at least one.
// Throws ConfigError if the prompt alone does not fit.
int64_t max_new_tokens(const SearchConfig& config, const SearchInput& input, int64_t max_length);

// What may not come next, sorted and distinct: suppressed tokens, the end token before min_length, and every token
// that would complete an n-gram which prompt and text hold already. (The end token never breaks the n-gram rule.)
std::vector<int32_t> blocked_tokens(const SearchConfig& config, const SearchTokens& tokens,
                                    std::span<const int32_t> prompt, std::span<const int32_t> text);

// A row's scores after repetition_penalty (Keskar et al. 2019, "CTRL", 4.1): x / penalty where x > 0, x * penalty
// elsewhere, for each token of prompt and text. Without a penalty `row` itself, else in `changed`.
std::span<const float> penalised(const SearchConfig& config, std::span<const int32_t> prompt,
                                 std::span<const int32_t> text, std::span<const float> row,
                                 std::vector<float>& changed);

// Ended by the model or by a stop string, not cut by a limit.
constexpr bool is_complete(Ending ending) { return ending == Ending::EndToken || ending == Ending::StopString; }

// `ranking` is the log-probability that the text is ranked by: the model's own, or what a penalty makes of it.
Hypothesis make_hypothesis(const SearchConfig& config, std::vector<int32_t> text, double log_probability,
                           double ranking, Ending ending);

// Checks what a model answers: the size, and that no row's log_sum_exp is NaN (throws DivergenceError).
void check_logits(const NextTokenModel& model, std::span<const float> logits);
void check_log_sums(std::span<const double> log_sums);

// search_batch() by each method.
std::vector<NBest> beam_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                               const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener);
std::vector<NBest> sample_search(NextTokenModel& model, std::span<const SearchInput* const> inputs, int64_t at_once,
                                 const SearchConfig& config, const SearchTokens& tokens,
                                 const SearchListener& listener);

}  // namespace weft
