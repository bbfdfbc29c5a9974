// SPDX-License-Identifier: Apache-2.0
#include "evaluate/text_attention.h"

#include "base/error.h"
#include "data/prepare/specials.h"
#include "generate/one_line.h"
#include "generate/text_generator.h"

namespace weft {
namespace {

// What the decoder reads: its start token and the translation.
std::vector<int32_t> decoder_input(const Tokenizer& tokenizer, const std::vector<int32_t>& translation) {
  std::vector<int32_t> input{*target_specials(tokenizer).bos};
  input.insert(input.end(), translation.begin(), translation.end());
  return input;
}

}  // namespace

TextAttention text_attention(const LoadedModel& loaded, const std::string& text,
                             const std::optional<std::string>& translation) {
  TextAttention found{.model = loaded.path.string()};
  if (!loaded.job.is_translation()) {
    require<ConfigError>(!translation, "{} holds a language model: give one text, not a pair", found.model);
    found.text = text;
    found.maps = attention_maps(loaded, {}, encode_prompt(text, *loaded.target_tokenizer));
    return found;
  }
  require<DataError>(!is_blank(text), "the source is blank: there is nothing to translate");
  const std::vector<int32_t> source = encode_source(text, *loaded.source_tokenizer, loaded.job.data);
  std::vector<int32_t> target;
  if (translation) {
    target = loaded.target_tokenizer->encode(*translation);
    found.text = *translation;
  } else {
    const TextGenerator generator = text_generator(loaded);
    const Hypothesis best = generator.translate({.sources = {source}}, {}).at(0).at(0);
    target = best.tokens;
    found.text = generator.text(best);
  }
  found.source = text;
  found.maps = attention_maps(loaded, source, decoder_input(*loaded.target_tokenizer, target));
  return found;
}

}  // namespace weft
