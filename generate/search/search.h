// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <vector>

#include "generate/search/config.h"
#include "generate/search/next_token_model.h"

namespace weft {

// One text to continue or sentence to translate.
struct SearchInput {
  int64_t id = 0;               // random stream: samples depend on (seed, id, sample, position) and nothing else
  std::vector<int32_t> prompt;  // fed to the decoder first: a start token, or a text to continue; not empty
  std::optional<int64_t> source_length;  // tokens of the source; nullopt: a language model. 0 gives an empty text.
  // Tokens that the text must begin with. They are counted and scored like tokens that the search chose, and no rule
  // applies to them. The last of them may be an end token.
  std::vector<int32_t> forced = {};
};

// The tokens that search treats specially.
struct SearchTokens {
  std::optional<int32_t> end;       // ends a text; nullopt: texts grow to their maximal length
  std::vector<int32_t> suppressed;  // never generated (start, padding); they keep their share of the probability
  // Whether the text has just ended without an end token, because it holds a stop string. Called with each text as it
  // grows, on the thread that searches.
  std::function<bool(std::span<const int32_t>)> stops;
};

// Callbacks that follow a search, on the thread that searches.
struct SearchListener {
  std::function<void(int64_t done)> progress;  // called after each finished input with the number of finished inputs
  // Greedy search and sampling: called when the first text of an input, given by its id, has grown and continues.
  std::function<void(int64_t input, std::span<const int32_t> text)> grown;
};

enum class Ending {
  EndToken,
  StopString,   // the text holds a stop string, which is still to be cut off
  MaxLength,    // the text reached its maximal length
  Blocked,      // every token was blocked (n-gram rule, suppressed, minimal length)
  EmptySource,  // the source had no tokens
};
template <>
struct EnumNames<Ending> {
  static constexpr auto kNames = enum_names<Ending>("end", "stop_string", "max_length", "blocked", "empty_source");
};

struct Hypothesis {
  std::vector<int32_t> tokens;                  // without prompt and end token
  std::vector<double> token_log_probabilities;  // natural, under the model's full distribution; the end token's is last
  double log_probability = 0;                   // the sum of token_log_probabilities
  double score = 0;  // length_normalized(), of the penalised log-probability if there is a repetition_penalty
  Ending ending = Ending::EndToken;
};
void to_json(nlohmann::json& json, const Hypothesis& hypothesis);
void from_json(const nlohmann::json& json, Hypothesis& hypothesis);

// Texts of one input, the best first (samples: in the order of their numbers); n_best at most.
using NBest = std::vector<Hypothesis>;

// Decodes a batch with a fresh model, which admits `inputs` in their order: at most `at_once` (0: all) are alive at the
// same time, and others begin as inputs end. Inputs with an empty source are not allowed here.
std::vector<NBest> search_batch(NextTokenModel& model, std::span<const SearchInput> inputs, const SearchConfig& config,
                                const SearchTokens& tokens, const SearchListener& listener = {}, int64_t at_once = 0);

// Decodes all inputs: sorts them by length, longest first, begins a new batch when the limits of `config` allow twice
// as many inputs at once, calls `make_model` for each batch, and returns results in the order of the inputs.
std::vector<NBest> search(std::span<const SearchInput> inputs, const ModelFactory& make_model,
                          const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener = {});

}  // namespace weft
