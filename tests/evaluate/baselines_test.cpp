#include "data/sample/baselines.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/sample/corpus.h"
#include "evaluate/metrics/bleu.h"

namespace weft {
namespace {

const std::vector<TranslationPair> kPairs = {{"the dog sleeps.", "hunden sover."},
                                             {"the cat sleeps.", "katten sover."},
                                             {"the dog runs.", "hunden løper."},
                                             {"a horse runs quickly.", "en hest løper fort."}};

TEST(Baselines, WordsAndTextAreInverse) {
  EXPECT_EQ(baseline_words("If it rains, he runs."),
            (std::vector<std::string>{"If", "it", "rains", ",", "he", "runs", "."}));
  EXPECT_EQ(baseline_text(baseline_words("If it rains, he runs.")), "If it rains, he runs.");
  EXPECT_TRUE(baseline_words("  ").empty());
  EXPECT_EQ(baseline_text({}), "");
}

TEST(Baselines, NearestNeighbourFindsTheSentenceItselfAndTheClosest) {
  const NearestNeighbour nearest(kPairs);
  for (size_t i = 0; i < kPairs.size(); ++i) EXPECT_EQ(nearest.nearest(kPairs[i].source), static_cast<int64_t>(i));
  EXPECT_EQ(nearest.translate("the cow runs."), "hunden løper.");
  EXPECT_EQ(nearest.translate("a horse sleeps quickly."), "en hest løper fort.");
  EXPECT_EQ(nearest.nearest("nothing known"), 0);
  EXPECT_EQ(nearest.nearest(""), 0);
}

TEST(Baselines, WordTableLearnsWordsAndLeavesOutWhatHasNone) {
  const WordTable table(kPairs);
  EXPECT_EQ(table.translate("dog runs."), "hunden løper.");
  EXPECT_EQ(table.translate("cat sleeps."), "katten sover.");
  EXPECT_EQ(table.translate("zebra"), "zebra");
  EXPECT_EQ(table.translate(""), "");
  const std::vector<TranslationPair> articles = {{"the dog", "hunden"}, {"the cat", "katten"}, {"the cow", "kua"},
                                                 {"dog", "hunden"},     {"cat", "katten"},     {"cow", "kua"}};
  EXPECT_EQ(WordTable(articles).translate("the cow"), "kua");
}

TEST(Baselines, RefuseAnEmptyTraining) {
  EXPECT_THROW(NearestNeighbour(std::span<const TranslationPair>{}), DataError);
  EXPECT_THROW(WordTable(std::span<const TranslationPair>{}), DataError);
}

TEST(Baselines, StayBelow50OnTheSampleCorpus) {
  const SampleCorpus corpus = make_sample_corpus(1);
  std::vector<TranslationPair> train;
  for (const SamplePair& pair : corpus.train) train.push_back({pair.english, pair.norwegian});
  const NearestNeighbour nearest(train);
  const WordTable table(train);
  std::vector<std::string> by_neighbour, by_word;
  std::vector<std::vector<std::string>> references(1);
  for (const SamplePair& pair : corpus.test) {
    by_neighbour.push_back(nearest.translate(pair.english));
    by_word.push_back(table.translate(pair.english));
    references[0].push_back(pair.norwegian);
  }
  const double neighbour_bleu = corpus_bleu(by_neighbour, references).score;
  const double word_bleu = corpus_bleu(by_word, references).score;
  RecordProperty("nearest_neighbour_bleu", std::to_string(neighbour_bleu));
  RecordProperty("word_table_bleu", std::to_string(word_bleu));
  EXPECT_LT(neighbour_bleu, 50);
  EXPECT_LT(word_bleu, 50);
  // They are honest baselines all the same, far above chance.
  EXPECT_GT(neighbour_bleu, 10);
  EXPECT_GT(word_bleu, 25);
}

}  // namespace
}  // namespace weft
