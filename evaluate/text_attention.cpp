// SPDX-License-Identifier: Apache-2.0
#include "evaluate/text_attention.h"

#include "base/error.h"
#include "data/prepare/specials.h"
#include "generate/one_line.h"
#include "generate/shared_translation.h"

namespace weft {
namespace {

// Lines are aligned one after another: 256 MiB.
constexpr int64_t kMostOfLine = int64_t{1} << 26;

// A source and its translation as the model reads them. The start token takes a position, so that the last token of
// the longest translations has none.
AttentionMaps pair_maps(const LoadedModel& loaded, const std::vector<int32_t>& source,
                        const std::vector<int32_t>& translation, int64_t most_weights) {
  std::vector<int32_t> input{*target_specials(*loaded.target_tokenizer).bos};
  input.insert(input.end(), translation.begin(), translation.end());
  if (std::ssize(input) == loaded.job.model.max_length + 1) input.pop_back();
  return attention_maps(loaded, source, input, most_weights);
}

}  // namespace

TextAttention text_attention(const LoadedModel& loaded, const AttentionQuestion& question) {
  TextAttention found{.model = loaded.path.string(), .text = question.text};
  if (!loaded.job.is_translation()) {
    require<ConfigError>(!question.translation && !question.head,
                         "{} holds a language model: give one text, and no head that aligns", found.model);
    found.maps = attention_maps(loaded, {}, text_generator(loaded).prompt(question.text), question.most_weights);
    return found;
  }
  require<DataError>(!is_blank(question.text), "the source is blank: there is nothing to translate");
  const TextGenerator generator = text_generator(loaded);
  const std::vector<int32_t> source = encode_source(question.text, *loaded.source_tokenizer, loaded.job.data);
  std::vector<int32_t> translation;
  if (question.translation) {
    translation = loaded.target_tokenizer->encode(*question.translation);
    found.text = *question.translation;
  } else {
    const Hypothesis best = generator.translate({.sources = {source}}, {}).at(0).at(0);
    translation = best.tokens;
    found.text = generator.text(best);
  }
  found.source = question.text;
  found.maps = pair_maps(loaded, source, translation, question.most_weights);
  if (translation.empty()) return found;
  found.heads = scored_heads(found.maps, source_importance(generator, source, translation));
  found.alignment = aligned(loaded, found.maps, question.head.value_or(best_of(found.heads).head));
  return found;
}

struct LineAligner::Pair {
  std::vector<int32_t> source, translation;
};

void LineAligner::choose_head(const std::vector<Pair>& pairs) {
  const TextGenerator generator = text_generator(loaded_);
  std::vector<ScoredHead> sums;
  size_t tried = 0;
  for (const Pair& pair : pairs) {
    if (pair.translation.empty()) continue;
    if (tried++ == kTrialLines) break;
    const auto scored = scored_heads(pair_maps(loaded_, pair.source, pair.translation, kMostOfLine),
                                     source_importance(generator, pair.source, pair.translation));
    if (sums.empty()) sums.resize(scored.size());
    for (size_t i = 0; i < scored.size(); ++i) sums[i] = {scored[i].head, sums[i].score + scored[i].score};
  }
  if (!sums.empty()) head_ = best_of(sums).head;
}

std::vector<Links> LineAligner::align(const std::vector<std::string>& lines,
                                      const std::vector<std::vector<int32_t>>& translations) {
  std::vector<Pair> pairs;
  for (size_t i = 0; i < lines.size(); ++i) {
    Pair& pair = pairs.emplace_back();
    if (is_blank(lines[i])) continue;
    pair = {encode_source(lines[i], *loaded_.source_tokenizer, loaded_.job.data), translations[i]};
    cut_source(pair.source, loaded_.job.model.max_length, loaded_.source_tokenizer->special(SpecialRole::Eos));
  }
  if (!head_) choose_head(pairs);
  std::vector<Links> all;
  for (const Pair& pair : pairs) {
    all.emplace_back();
    if (pair.translation.empty()) continue;
    all.back() = aligned(loaded_, pair_maps(loaded_, pair.source, pair.translation, kMostOfLine), *head_).words;
  }
  return all;
}

}  // namespace weft
