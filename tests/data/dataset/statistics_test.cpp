// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/statistics.h"

#include <gtest/gtest.h>

#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/trainer.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

constexpr int32_t kUnk = 0, kBos = 1, kEos = 2, kA = 3, kB = 4, kCat = 5, kDog = 6;

// A dataset of words, whose numbers are counted by hand.
class Statistics : public testing::Test {
 protected:
  Statistics() {
    TokenizerTrainer trainer({.kind = TokenizerKind::Words,
                              .min_frequency = 1,
                              .specials = {"<unk>", "<s>", "</s>"},
                              .bos = "<s>",
                              .eos = "</s>",
                              .unk = "<unk>"},
                             1);
    trainer.add("a b cat dog");
    const TokenizerPtr tokenizer = trainer.finish();
    tokenizer->save(scratch_ / "tokenizer.json");
    builder_ = {.directory = scratch_.path(), .vocabulary = 7, .tokenizer_hash = tokenizer->hash()};
  }
  SplitStatistics of_train(int64_t frequent = 10) const { return dataset_statistics(scratch_.path(), frequent).at(0); }

  Scratch scratch_;
  DatasetBuilder builder_;
};

std::vector<int64_t> percentiles(const Distribution& values) {
  std::vector<int64_t> all;
  for (const int percent : {5, 25, 50, 75, 95, 100}) all.push_back(values.percentile(percent));
  return all;
}

using Values = std::vector<int64_t>;

TEST(Distribution, PercentilesAreValuesThatOccur) {
  Distribution values;
  EXPECT_EQ(values.percentile(50), 0);
  for (int64_t i = 100; i > 0; --i) values.add(10 * i);
  EXPECT_EQ(percentiles(values), (Values{50, 250, 500, 750, 950, 1000}));
  EXPECT_EQ(values.mean(), 505);
  values.add(-3);
  EXPECT_EQ(values.percentile(0), -3);
  EXPECT_EQ(values.percentile(50), 500);  // 51 of 101 values are at most 500
}

TEST_F(Statistics, DocumentsAreCountedWithoutTheirEnds) {
  builder_.stream({{kA, kB, kA, kEos}, {kCat, kEos}, {kEos}, {kA, kA, kA, kA, kA, kDog, kEos}});
  builder_.stream({{kDog, kEos}}, DataSplit::Valid);
  const SplitStatistics train = of_train();
  EXPECT_EQ(train.split, DataSplit::Train);
  EXPECT_FALSE(train.target || train.both);
  const SideStatistics& side = train.source;
  EXPECT_EQ(side.tokens.count(), 4);
  EXPECT_EQ(side.tokens.sum(), 10);
  EXPECT_EQ(percentiles(side.tokens), (Values{0, 0, 1, 3, 6, 6}));
  EXPECT_EQ(side.tokens.mean(), 2.5);
  EXPECT_EQ(percentiles(side.sizes->words), (Values{0, 0, 1, 3, 6, 6}));
  EXPECT_EQ(percentiles(side.sizes->bytes), (Values{0, 0, 3, 5, 13, 13}));
  EXPECT_EQ(side.vocabulary, 7);
  EXPECT_EQ(side.distinct, 4);
  EXPECT_EQ(side.growth, (std::vector<DistinctTokens>{{10, 4}}));
  const SplitStatistics valid = dataset_statistics(scratch_.path(), 10).at(1);
  EXPECT_EQ(valid.split, DataSplit::Valid);
  EXPECT_EQ(valid.source.growth, (std::vector<DistinctTokens>{{1, 1}}));
}

TEST_F(Statistics, FrequentTokensComeByCountThenById) {
  builder_.stream({{kDog, kCat, kCat, kA, kB, kA, kEos}});
  const auto listed = [&](int64_t most) {
    std::string text;
    for (const FrequentToken& token : of_train(most).source.frequent)
      text += fmt::format("{} {} {};", token.id, token.count, token.text);
    return text;
  };
  EXPECT_EQ(listed(3), "3 2 a;5 2 cat;4 1 b;");
  EXPECT_EQ(listed(10), "3 2 a;5 2 cat;4 1 b;6 1 dog;");
  EXPECT_EQ(listed(0), "");
}

TEST_F(Statistics, RanksSayHowMuchOfTheTextIsCovered) {
  builder_.stream({{kDog, kCat, kCat, kA, kCat, kA, kEos}});
  EXPECT_EQ(of_train(0).source.ranks, (std::vector<TokenRank>{{1, 3, 3}, {2, 2, 5}, {3, 1, 6}}));
}

TEST_F(Statistics, DistinctTokensAreCountedAtPlacesOfThatText) {
  Ids ids(60, kA);
  ids[9] = kB, ids[10] = kCat, ids[20] = kDog, ids.push_back(kEos);
  builder_.stream({ids});
  EXPECT_EQ(of_train().source.growth, (std::vector<DistinctTokens>{{10, 2}, {20, 3}, {50, 4}, {60, 4}}));
}

// A document of more tokens than are read at once: a space stands between the parts too.
TEST_F(Statistics, LongDocumentsAreOneText) {
  constexpr int64_t kLength = (int64_t{1} << 21) + 5;
  Ids ids(kLength, kCat);
  ids.push_back(kEos);
  builder_.stream({{kA, kEos}, ids});
  const SideStatistics side = of_train().source;
  EXPECT_EQ(percentiles(side.sizes->words), (Values{1, 1, 1, kLength, kLength, kLength}));
  EXPECT_EQ(side.sizes->bytes.sum(), 1 + 4 * kLength - 1);
}

TEST_F(Statistics, UnknownTextHasNoSize) {
  builder_.stream({{kA, kEos}, {kB, kUnk, kEos}});
  const SideStatistics side = of_train().source;
  EXPECT_EQ(side.tokens.sum(), 3);
  EXPECT_EQ(side.distinct, 3);
  EXPECT_FALSE(side.sizes);
  EXPECT_EQ(side.frequent.at(0).text, "<unk>");
}

TEST_F(Statistics, PairsHaveTwoSidesAndARatio) {
  builder_.pairs({{{kA, kB}, {kBos, kA, kCat, kEos}}, {{kA, kA, kA}, {kBos, kCat, kEos}}, {{}, {kBos, kB, kEos}}});
  const SplitStatistics train = of_train();
  EXPECT_EQ(percentiles(train.source.tokens), (Values{0, 0, 2, 3, 3, 3}));
  EXPECT_EQ(percentiles(train.target->tokens), (Values{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(train.source.distinct, 2);
  EXPECT_EQ(train.target->distinct, 3);
  EXPECT_EQ(train.both->shared, 2);
  EXPECT_EQ(train.both->ratio_percent.count(), 2);  // a pair without a source has no ratio
  EXPECT_EQ(percentiles(train.both->ratio_percent), (Values{33, 33, 33, 100, 100, 100}));
}

}  // namespace
}  // namespace weft
