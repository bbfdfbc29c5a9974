// SPDX-License-Identifier: Apache-2.0
#include "generate/search/search.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "generate/search/rules.h"

namespace weft {
namespace {

void check_inputs(std::span<const SearchInput> inputs) {
  for (const SearchInput& input : inputs) {
    require<InternalError>(!input.prompt.empty(), "search: input {} has no prompt, not even a start token", input.id);
  }
}

int64_t texts_per_input(const SearchConfig& config) {
  return config.method == SearchMethod::Beam ? config.beam : config.n_best;
}

int64_t input_length(const SearchInput& input) {
  return std::max(input.source_length.value_or(0), static_cast<int64_t>(input.prompt.size() + input.forced.size()));
}

// The most positions that a row may need.
int64_t capacity_of(const SearchConfig& config, const SearchInput& input) {
  const int64_t prompt = static_cast<int64_t>(input.prompt.size());
  return prompt + max_new_tokens(config, input, int64_t{1} << 40) - 1;
}

// Inputs that need decoding, longest first: one too large for memory fails at once, and the last to begin are short.
std::vector<int64_t> order_by_length(std::span<const SearchInput> inputs) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].source_length != 0) order.push_back(static_cast<int64_t>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return input_length(inputs[a]) > input_length(inputs[b]); });
  return order;
}

}  // namespace

std::vector<NBest> search_batch(NextTokenModel& model, std::span<const SearchInput> inputs, const SearchConfig& config,
                                const SearchTokens& tokens, const SearchListener& listener, int64_t at_once) {
  check(config);
  check_inputs(inputs);
  require<InternalError>(model.num_rows() == 0, "search: a fresh model has {} rows", model.num_rows());
  if (inputs.empty()) return {};
  const auto in_vocabulary = [&](int32_t token) { return token >= 0 && token < model.vocabulary(); };
  if (tokens.end) {
    require<InternalError>(in_vocabulary(*tokens.end), "search: end token {} is not in the vocabulary of {}",
                           *tokens.end, model.vocabulary());
  }
  for (const int32_t token : tokens.suppressed) {
    require<InternalError>(in_vocabulary(token), "search: suppressed token {} is not in the vocabulary of {}", token,
                           model.vocabulary());
  }
  std::vector<const SearchInput*> pointers;
  for (const SearchInput& input : inputs) pointers.push_back(&input);
  if (at_once == 0) at_once = static_cast<int64_t>(inputs.size());
  return config.method == SearchMethod::Beam ? beam_search(model, pointers, at_once, config, tokens, listener)
                                             : sample_search(model, pointers, at_once, config, tokens, listener);
}

std::vector<NBest> search(std::span<const SearchInput> inputs, const ModelFactory& make_model,
                          const SearchConfig& config, const SearchTokens& tokens, const SearchListener& listener) {
  check(config);
  check_inputs(inputs);
  std::vector<NBest> results(inputs.size(), NBest{make_hypothesis(config, {}, {}, 0, 0, Ending::EmptySource)});
  const std::vector<int64_t> order = order_by_length(inputs);
  const int64_t texts = texts_per_input(config);
  const auto fitting = [&](int64_t input) {
    const int64_t most = config.batch_tokens / (texts * input_length(inputs[input]));
    return std::clamp<int64_t>(most, 1, config.batch_sentences);
  };
  int64_t done = static_cast<int64_t>(inputs.size() - order.size());
  SearchListener counting = listener;
  if (listener.progress) counting.progress = [&](int64_t in_batch) { listener.progress(done + in_batch); };
  for (auto begin = order.begin(); begin != order.end();) {
    const int64_t at_once = fitting(*begin);
    const auto end = std::find_if(begin, order.end(), [&](int64_t i) { return fitting(i) >= 2 * at_once; });
    const std::span<const int64_t> batch(begin, end);
    std::vector<SearchInput> batch_inputs;
    int64_t capacity = 0;
    for (const int64_t i : batch) {
      batch_inputs.push_back(inputs[i]);
      capacity = std::max(capacity, capacity_of(config, inputs[i]));
    }
    const int64_t alive = std::min(at_once, static_cast<int64_t>(batch.size()));
    const auto model =
        make_model({.sentences = batch, .max_sentences = alive, .max_rows = texts * alive, .capacity = capacity});
    std::vector<NBest> found = search_batch(*model, batch_inputs, config, tokens, counting, alive);
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(found[i]);
    done += static_cast<int64_t>(batch.size());
    begin = end;
  }
  return results;
}

void to_json(nlohmann::json& json, const Hypothesis& hypothesis) {
  json = {{"tokens", hypothesis.tokens},
          {"token_log_probabilities", hypothesis.token_log_probabilities},
          {"log_probability", hypothesis.log_probability},
          {"score", hypothesis.score},
          {"ending", enum_name(hypothesis.ending)}};
}

void from_json(const nlohmann::json& json, Hypothesis& hypothesis) {
  json.at("tokens").get_to(hypothesis.tokens);
  json.at("token_log_probabilities").get_to(hypothesis.token_log_probabilities);
  json.at("log_probability").get_to(hypothesis.log_probability);
  json.at("score").get_to(hypothesis.score);
  const auto ending = json.at("ending").get<std::string>();
  for (const auto& [name, value] : EnumNames<Ending>::kNames) {
    if (name == ending) hypothesis.ending = value;
  }
}

}  // namespace weft
