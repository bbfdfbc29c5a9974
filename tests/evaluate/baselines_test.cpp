// SPDX-License-Identifier: Apache-2.0
#include "data/sample/baselines.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/sample/corpus.h"
#include "metrics/bleu.h"

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

std::string nearest(const std::string& source) { return nearest_translations(kPairs, std::vector{source})[0]; }
std::string word_for_word(const std::string& source, std::span<const TranslationPair> train = kPairs) {
  return word_for_word_translations(train, std::vector{source})[0];
}

TEST(Baselines, NearestNeighbourFindsTheSentenceItselfAndTheClosest) {
  for (const TranslationPair& pair : kPairs) EXPECT_EQ(nearest(pair.source), pair.target);
  EXPECT_EQ(nearest("the cow runs."), "hunden løper.");
  EXPECT_EQ(nearest("a horse sleeps quickly."), "en hest løper fort.");
  EXPECT_EQ(nearest("nothing known"), kPairs[0].target);
  EXPECT_EQ(nearest(""), kPairs[0].target);
}

TEST(Baselines, WordTableLearnsWordsAndLeavesOutWhatHasNone) {
  EXPECT_EQ(word_for_word("dog runs."), "hunden løper.");
  EXPECT_EQ(word_for_word("cat sleeps."), "katten sover.");
  EXPECT_EQ(word_for_word("zebra"), "zebra");
  EXPECT_EQ(word_for_word(""), "");
  const std::vector<TranslationPair> articles = {{"the dog", "hunden"}, {"the cat", "katten"}, {"the cow", "kua"},
                                                 {"dog", "hunden"},     {"cat", "katten"},     {"cow", "kua"}};
  EXPECT_EQ(word_for_word("the cow", articles), "kua");
}

TEST(Baselines, RefuseAnEmptyTraining) {
  EXPECT_THROW(nearest_translations({}, {}), DataError);
  EXPECT_THROW(word_for_word_translations({}, {}), DataError);
}

TEST(Baselines, StayBelow50OnTheSampleCorpus) {
  const SampleCorpus corpus = make_sample_corpus(1);
  std::vector<TranslationPair> train;
  for (const SamplePair& pair : corpus.train) train.push_back({pair.english, pair.norwegian});
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> references(1);
  for (const SamplePair& pair : corpus.test) {
    sources.push_back(pair.english);
    references[0].push_back(pair.norwegian);
  }
  // The scores that docs/sample_corpus.md gives. They are honest baselines, far above chance.
  EXPECT_NEAR(corpus_bleu(nearest_translations(train, sources), references).score, 21.3, 0.05);
  EXPECT_NEAR(corpus_bleu(word_for_word_translations(train, sources), references).score, 37.8, 0.05);
}

}  // namespace
}  // namespace weft
