// SPDX-License-Identifier: Apache-2.0
#include "generate/search/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace weft {

void check(const SearchConfig& config) {
  require<ConfigError>(config.beam >= 1, "search: beam {} is not at least 1", config.beam);
  require<ConfigError>(config.n_best >= 1, "search: n_best {} is not at least 1", config.n_best);
  if (config.method == SearchMethod::Beam && config.n_best > config.beam) {
    throw ConfigError(fmt::format("search: n_best {} is more than beam {}", config.n_best, config.beam),
                      "a beam of k hypotheses yields k texts at most: raise beam");
  }
  if (config.method == SearchMethod::Greedy && config.n_best > 1) {
    throw ConfigError(fmt::format("search: greedy search yields one text, not n_best {}", config.n_best),
                      "use method: beam or method: sample");
  }
  require<ConfigError>(config.length_penalty >= 0, "search: length_penalty {} is negative", config.length_penalty);
  require<ConfigError>(config.temperature >= 0 && std::isfinite(config.temperature),
                       "search: temperature {} is not a number from 0", config.temperature);
  require<ConfigError>(config.top_p >= 0 && config.top_p <= 1, "search: top_p {} is not from 0 to 1", config.top_p);
  require<ConfigError>(config.top_k >= 0, "search: top_k {} is negative", config.top_k);
  require<ConfigError>(config.seed >= 0, "search: seed {} is negative", config.seed);
  require<ConfigError>(config.no_repeat_ngram >= 0, "search: no_repeat_ngram {} is negative", config.no_repeat_ngram);
  require<ConfigError>(config.repetition_penalty > 0 && std::isfinite(config.repetition_penalty),
                       "search: repetition_penalty {} is not a number above 0", config.repetition_penalty);
  require<ConfigError>(std::ranges::none_of(config.stop_strings, &std::string::empty),
                       "search: one of stop_strings is empty, which would end every text before it begins");
  require<ConfigError>(config.min_length >= 0, "search: min_length {} is negative", config.min_length);
  require<ConfigError>(config.max_length_factor >= 0 && std::isfinite(config.max_length_factor),
                       "search: max_length_factor {} is not a number from 0", config.max_length_factor);
  require<ConfigError>(config.max_length_extra >= 0, "search: max_length_extra {} is negative",
                       config.max_length_extra);
  require<ConfigError>(config.batch_sentences >= 1 && config.batch_tokens >= 1,
                       "search: batch_sentences {} and batch_tokens {} must be at least 1", config.batch_sentences,
                       config.batch_tokens);
}

double length_normalized(const SearchConfig& config, double log_probability, int64_t length) {
  if (length == 0) return 0;
  const double base = config.penalty_form == PenaltyForm::Gnmt ? (5.0 + static_cast<double>(length)) / 6.0
                                                               : static_cast<double>(length);
  return log_probability / std::pow(base, config.length_penalty);
}

bool slides(const SearchConfig& config, const SearchInput& input) {
  return config.method != SearchMethod::Beam && !input.source_length;
}

int64_t max_new_tokens(const SearchConfig& config, const SearchInput& input, int64_t max_length) {
  const int64_t prompt = static_cast<int64_t>(input.prompt.size()), forced = static_cast<int64_t>(input.forced.size());
  // The last token is never fed, so it needs no position.
  const int64_t room = slides(config, input) ? std::numeric_limits<int32_t>::max() : max_length - prompt + 1;
  if (forced > room || room < 1) {
    throw ConfigError(
        fmt::format("search: input {} has {} tokens, the model {} positions", input.id, prompt + forced, max_length),
        input.source_length ? "shorten the prompt, or use a model with more positions"
                            : "shorten the prompt, use greedy search or sampling, under which the window slides, or "
                              "use a model with more positions");
  }
  const double wanted = config.max_length_factor * static_cast<double>(input.source_length.value_or(0)) +
                        static_cast<double>(config.max_length_extra);
  return wanted >= static_cast<double>(room) ? room
                                             : std::max(std::min(forced + 1, room), static_cast<int64_t>(wanted));
}

namespace {

void sort_distinct(std::vector<int32_t>& tokens) {
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

// Adds every token that followed an earlier occurrence of the last n - 1 tokens.
void block_repeats(int64_t n, const std::vector<int32_t>& history, std::vector<int32_t>& blocked) {
  const int64_t context = n - 1, size = static_cast<int64_t>(history.size());
  for (int64_t i = 0; i + context < size; ++i) {
    if (std::equal(history.begin() + i, history.begin() + i + context, history.end() - context)) {
      blocked.push_back(history[i + context]);
    }
  }
}

}  // namespace

std::vector<int32_t> blocked_tokens(const SearchConfig& config, const SearchTokens& tokens,
                                    std::span<const int32_t> prompt, std::span<const int32_t> text) {
  std::vector<int32_t> blocked;
  if (config.no_repeat_ngram > 0) {
    std::vector<int32_t> history(prompt.begin(), prompt.end());
    history.insert(history.end(), text.begin(), text.end());
    block_repeats(config.no_repeat_ngram, history, blocked);
  }
  if (tokens.end) {
    std::erase(blocked, *tokens.end);
    if (static_cast<int64_t>(text.size()) < config.min_length) blocked.push_back(*tokens.end);
  }
  blocked.insert(blocked.end(), tokens.suppressed.begin(), tokens.suppressed.end());
  sort_distinct(blocked);
  return blocked;
}

TokenQuestion question_of(const SearchConfig& config, const SearchTokens& tokens, const SearchInput& input,
                          std::span<const int32_t> text, int64_t row) {
  const std::vector<int32_t>& prompt = input.prompt;
  TokenQuestion question{.row = static_cast<int32_t>(row)};
  if (text.size() < input.forced.size()) {
    question.forced = input.forced[text.size()];
  } else {
    question.blocked = blocked_tokens(config, tokens, prompt, text);
  }
  if (config.repetition_penalty == 1) return question;
  std::vector<int32_t>& repeated = question.repeated;
  repeated.assign(prompt.begin(), prompt.end());
  repeated.insert(repeated.end(), text.begin(), text.end());
  sort_distinct(repeated);
  return question;
}

Hypothesis make_hypothesis(const SearchConfig& config, std::vector<int32_t> text,
                           std::vector<double> token_log_probabilities, double log_probability, double ranking,
                           Ending ending) {
  const int64_t length = static_cast<int64_t>(text.size()) + (ending == Ending::EndToken ? 1 : 0);
  return {.tokens = std::move(text),
          .token_log_probabilities = std::move(token_log_probabilities),
          .log_probability = log_probability,
          .score = length_normalized(config, ranking, length),
          .ending = ending};
}

void check_log_sums(std::span<const TokenAnswer> answers) {
  for (const TokenAnswer& answer : answers) {
    if (std::isnan(answer.log_sum) || answer.log_sum == std::numeric_limits<double>::infinity()) {
      throw DivergenceError("search: the model's logits are not finite",
                            "the checkpoint's weights have diverged; take an earlier one");
    }
  }
}

}  // namespace weft
