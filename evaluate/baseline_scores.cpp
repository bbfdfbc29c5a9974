// SPDX-License-Identifier: Apache-2.0
#include "evaluate/baseline_scores.h"

#include "data/sample/baselines.h"

namespace weft {
namespace {

template <class Length, class Read>
std::vector<std::string> decoded_texts(int64_t pairs, const Tokenizer& tokenizer, Length length, Read read) {
  std::vector<std::string> texts;
  std::vector<int32_t> sequence;
  for (int64_t i = 0; i < pairs; ++i) {
    sequence.resize(static_cast<size_t>(length(i)));
    read(i, sequence);
    texts.push_back(tokenizer.decode(sequence));
  }
  return texts;
}

}  // namespace

std::vector<BaselineScore> score_baselines(const BaselineArgs& args) {
  const int64_t pairs = args.train.num_pairs();
  const std::vector<std::string> sources = source_texts(args.train, args.source_tokenizer, pairs);
  const std::vector<std::string> targets = target_texts(args.train, args.target_tokenizer, pairs);
  std::vector<TranslationPair> train;
  for (int64_t i = 0; i < pairs; ++i) train.push_back({sources[i], targets[i]});
  const std::vector<std::vector<std::string>> references = {args.references};
  const auto bleu = [&](const auto& translations) { return corpus_bleu(translations, references, args.bleu); };
  return {{"nearest training neighbour", bleu(nearest_translations(train, args.sources))},
          {"word-for-word table", bleu(word_for_word_translations(train, args.sources))}};
}

std::vector<std::string> source_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs) {
  return decoded_texts(
      pairs, tokenizer, [&](int64_t i) { return dataset.source_length(i); },
      [&](int64_t i, std::span<int32_t> out) { dataset.read_source(i, out); });
}

std::vector<std::string> target_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs) {
  return decoded_texts(
      pairs, tokenizer, [&](int64_t i) { return dataset.target_length(i); },
      [&](int64_t i, std::span<int32_t> out) { dataset.read_target(i, out); });
}

}  // namespace weft
