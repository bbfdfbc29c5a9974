// SPDX-License-Identifier: Apache-2.0
#include "generate/text_generator.h"

#include "data/prepare/specials.h"
#include "data/tokenizer/tokenizer.h"
#include "generate/search/model_decoder.h"
#include "generate/search/search.h"
#include "generate/text_stream.h"

namespace weft {
namespace {

SearchTokens search_tokens(const Tokenizer& tokenizer, const SearchConfig& config) {
  SearchTokens tokens{.end = tokenizer.special(SpecialRole::Eos), .suppressed = never_generated(tokenizer)};
  if (!config.stop_strings.empty()) {
    tokens.stops = [&tokenizer, &config](std::span<const int32_t> text) {
      return ends_in_stop(tokenizer, text, config.stop_strings);
    };
  }
  return tokens;
}

}  // namespace

std::vector<int32_t> encode_prompt(const std::string& text, const Tokenizer& tokenizer, const DataConfig& data,
                                   const EncodeOptions& options) {
  const auto [bos, eos] = document_specials(data, tokenizer);
  std::vector<int32_t> tokens;
  if (bos) tokens.push_back(*bos);
  tokenizer.encode_append(text, tokens, options);
  // Documents are separated by the end token, so it also begins one.
  if (tokens.empty() && eos) tokens = {*eos};
  require<DataError>(!tokens.empty(), "an empty prompt, and the tokenizer has no end token to begin with");
  return tokens;
}

std::vector<int32_t> encode_sentence(const std::string& text, const Tokenizer& tokenizer, const DataConfig& data) {
  return text.empty() ? std::vector<int32_t>{} : encode_source(text, tokenizer, data);
}

std::vector<NBest> TextGenerator::translate(Sentences sentences, const SearchConfig& search_config,
                                            const SearchListener& listener) const {
  std::vector<SearchInput> inputs;
  const int32_t bos = *target_specials(target_tokenizer).bos;
  for (const std::vector<int32_t>& source : sentences.sources) {
    const size_t i = inputs.size();
    const int64_t id = sentences.first + static_cast<int64_t>(i) * sentences.step;
    if (static_cast<int64_t>(source.size()) > job.model.max_length) {
      throw DataError(
          fmt::format("text {} has {} tokens; the model's longest is {}", id + 1, source.size(), job.model.max_length),
          "cut it into sentences");
    }
    inputs.push_back({.id = id, .prompt = {bos}, .source_length = static_cast<int64_t>(source.size())});
    if (!sentences.prefixes.empty()) inputs.back().forced = std::move(sentences.prefixes[i]);
  }
  return search(inputs, decoder_factory(model, std::move(sentences.sources)), search_config,
                search_tokens(target_tokenizer, search_config), listener);
}

std::vector<NBest> TextGenerator::generate(const std::vector<std::string>& texts, const SearchConfig& search_config,
                                           const SearchListener& listener, int64_t first) const {
  if (job.is_translation()) {
    std::vector<std::vector<int32_t>> sources;
    for (const std::string& text : texts) sources.push_back(encode_sentence(text, source_tokenizer, job.data));
    return translate({.sources = std::move(sources), .first = first}, search_config, listener);
  }
  std::vector<SearchInput> inputs;
  for (const std::string& text : texts) {
    inputs.push_back({.id = first + static_cast<int64_t>(inputs.size()), .prompt = prompt(text)});
  }
  return search(inputs, decoder_factory(model), search_config, search_tokens(target_tokenizer, search_config),
                listener);
}

Hypothesis TextGenerator::continue_tokens(std::vector<int32_t> prompt, int32_t end, const SearchConfig& search_config,
                                          const SearchListener& listener, int64_t number) const {
  SearchTokens tokens = search_tokens(target_tokenizer, search_config);
  tokens.end = end;
  std::erase(tokens.suppressed, end);
  const SearchInput input{.id = number, .prompt = std::move(prompt)};
  return search({&input, 1}, decoder_factory(model), search_config, tokens, listener).front().front();
}

std::vector<int32_t> TextGenerator::prompt(const std::string& text) const {
  return encode_prompt(text, target_tokenizer, job.data, prompts);
}

std::string TextGenerator::text(const Hypothesis& hypothesis, std::span<const std::string> stop_strings) const {
  std::string text = target_tokenizer.decode(hypothesis.tokens, {.continues = !job.is_translation()});
  if (hypothesis.ending == Ending::StopString) text.resize(first_stop(text, stop_strings));
  return text;
}

TextGenerator text_generator(const LoadedModel& loaded) {
  return {*loaded.model, loaded.job, *loaded.source_tokenizer, *loaded.target_tokenizer};
}

}  // namespace weft
