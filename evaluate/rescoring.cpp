// SPDX-License-Identifier: Apache-2.0
#include "evaluate/rescoring.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/prepare/specials.h"
#include "generate/one_line.h"
#include "generate/shared_translation.h"

namespace weft {
namespace {

void check_fits(const char* which, size_t tokens, int64_t longest) {
  if (static_cast<int64_t>(tokens) <= longest) return;
  throw DataError(fmt::format("its {} has {} tokens, the model's longest is {}", which, tokens, longest),
                  "shorten it, or leave the pair out");
}

RescoredPair impossible(std::vector<int32_t> tokens) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  return {.tokens = std::move(tokens), .log_probability = kNever, .score = kNever};
}

}  // namespace

void to_json(nlohmann::json& json, const RescoredPair& pair) {
  json = {{"tokens", pair.tokens},
          {"token_log_probabilities", pair.token_log_probabilities},
          {"log_probability", pair.log_probability},
          {"score", pair.score}};
}

// A search whose tokens are all forced makes no choice, and computes the same scores as any other search.
std::vector<RescoredPair> rescore(const TextGenerator& generator, const std::vector<std::string>& sources,
                                  const std::vector<std::string>& translations, const SearchConfig& config,
                                  int64_t first) {
  const int64_t longest = generator.job.model.max_length;
  const int32_t end = *target_specials(generator.target_tokenizer).eos;
  Sentences sentences{.first = first};
  for (size_t i = 0; i < sources.size(); ++i) {
    try {
      auto& source = sentences.sources.emplace_back();
      if (!is_blank(sources[i])) source = encode_source(sources[i], generator.source_tokenizer, generator.job.data);
      check_fits("source", source.size(), longest);
      auto& forced = sentences.prefixes.emplace_back(generator.target_tokenizer.encode(translations[i]));
      // The start token takes a position; the end token, which is never fed, takes none.
      check_fits("translation", forced.size(), longest - 1);
      forced.push_back(end);
    } catch (const DataError& error) {
      throw DataError(fmt::format("line {}: {}", first + static_cast<int64_t>(i) + 1, error.what()), error.hint());
    }
  }
  SearchConfig forced = config;
  forced.method = SearchMethod::Greedy, forced.n_best = 1, forced.stop_strings.clear();
  std::vector<RescoredPair> scored;
  for (const NBest& best : translate_on_ranks(generator, sentences, forced)) {
    const size_t i = scored.size();
    const Hypothesis& text = best.at(0);
    std::vector<int32_t> tokens(sentences.prefixes[i].begin(), sentences.prefixes[i].end() - 1);
    if (text.ending == Ending::Blocked || (text.ending == Ending::EmptySource && !tokens.empty())) {
      scored.push_back(impossible(std::move(tokens)));
      continue;
    }
    scored.push_back({.tokens = std::move(tokens),
                      .token_log_probabilities = text.token_log_probabilities,
                      .log_probability = text.log_probability,
                      .score = text.score});
  }
  return scored;
}

}  // namespace weft
