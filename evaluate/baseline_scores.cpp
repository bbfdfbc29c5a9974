#include "evaluate/baseline_scores.h"

#include "data/sample/baselines.h"

namespace weft {
namespace {

BaselineScore score(std::string name, const std::vector<std::string>& translations, const BaselineArgs& args) {
  const std::vector<std::vector<std::string>> references = {args.references};
  return {std::move(name), corpus_bleu(translations, references, args.bleu)};
}

}  // namespace

std::vector<BaselineScore> score_baselines(const BaselineArgs& args) {
  const int64_t pairs = args.train.num_pairs();
  std::vector<std::string> sources = source_texts(args.train, args.source_tokenizer, pairs);
  std::vector<std::string> targets = target_texts(args.train, args.target_tokenizer, pairs);
  std::vector<TranslationPair> train;
  for (int64_t i = 0; i < pairs; ++i) train.push_back({std::move(sources[i]), std::move(targets[i])});
  const NearestNeighbour nearest(train);
  const WordTable table(train);
  std::vector<std::string> by_neighbour, by_word;
  for (const std::string& source : args.sources) {
    by_neighbour.push_back(nearest.translate(source));
    by_word.push_back(table.translate(source));
  }
  return {score("nearest training neighbour", by_neighbour, args), score("word-for-word table", by_word, args)};
}

std::vector<std::string> source_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs) {
  std::vector<std::string> texts;
  std::vector<int32_t> row;
  for (int64_t i = 0; i < pairs; ++i) {
    row.resize(static_cast<size_t>(dataset.source_length(i)));
    dataset.read_source(i, row);
    texts.push_back(tokenizer.decode(row));
  }
  return texts;
}

std::vector<std::string> target_texts(const Dataset& dataset, const Tokenizer& tokenizer, int64_t pairs) {
  std::vector<std::string> texts;
  std::vector<int32_t> row;
  for (int64_t i = 0; i < pairs; ++i) {
    row.resize(static_cast<size_t>(dataset.target_length(i)));
    dataset.read_target(i, row);
    texts.push_back(tokenizer.decode(row));
  }
  return texts;
}

}  // namespace weft
