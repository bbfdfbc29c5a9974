// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/split.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;

// The text of each split, in order.
std::array<std::vector<std::string>, 3> divide(const DataConfig& config) {
  Corpus corpus(config, files_of_splits(config));
  if (corpus.needs_size()) corpus.measure([](const Corpus&) {});
  std::array<std::vector<std::string>, 3> texts;
  DataSplit split;
  TextRecord record;
  while (corpus.next(split, record)) texts[static_cast<size_t>(split)].push_back(record.source);
  EXPECT_EQ(corpus.consumed(), corpus.total_bytes());
  return texts;
}

DataConfig lines(const Scratch& scratch, int count, SplitRule rule, double valid, double test) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}\n", i);
  return {.directory = "out",
          .train = {.files = {scratch.write("lines.txt", text)}},
          .document_delimiter = DocumentDelimiter::Line,
          .split = rule,
          .valid_fraction = valid,
          .test_fraction = test};
}

TEST(SplitRules, FilesGoWhereTheyAreNamed) {
  const Scratch scratch;
  const auto texts = divide({.directory = "out",
                             .train = {.files = {scratch.write("a", "1\n2"), scratch.write("b", "3")}},
                             .test = {.files = {scratch.write("c", "4")}},
                             .document_delimiter = DocumentDelimiter::Line});
  EXPECT_THAT(texts[0], ElementsAre("1", "2", "3"));
  EXPECT_TRUE(texts[1].empty());
  EXPECT_THAT(texts[2], ElementsAre("4"));
}

TEST(SplitRules, RecordsAreCutInOrder) {
  const Scratch scratch;
  const auto texts = divide(lines(scratch, 10, SplitRule::Records, 0.2, 0.1));
  EXPECT_THAT(texts[0], ElementsAre("0", "1", "2", "3", "4", "5", "6"));
  EXPECT_THAT(texts[1], ElementsAre("7", "8"));
  EXPECT_THAT(texts[2], ElementsAre("9"));
}

TEST(SplitRules, HashIsAFunctionOfSeedAndIndex) {
  const Scratch scratch;
  DataConfig config = lines(scratch, 10'000, SplitRule::Hash, 0.1, 0.05);
  config.split_seed = 1357;
  const auto texts = divide(config);
  EXPECT_EQ(texts, divide(config));
  EXPECT_EQ(texts[0].size() + texts[1].size() + texts[2].size(), 10'000u);
  EXPECT_NEAR(static_cast<double>(texts[1].size()), 1000, 100);  // 3 standard deviations are 90
  EXPECT_NEAR(static_cast<double>(texts[2].size()), 500, 70);
  config.split_seed = 1358;
  EXPECT_NE(texts, divide(config));
  for (const std::string& text : texts[1]) EXPECT_EQ(hashed_split(1357, std::stoll(text), 0.1, 0.05), DataSplit::Valid);
}

TEST(SplitRules, HashOfAPrefixIsThePrefixOfTheHash) {
  const Scratch scratch;
  const auto few = divide(lines(scratch, 100, SplitRule::Hash, 0.3, 0));
  const auto many = divide(lines(scratch, 1000, SplitRule::Hash, 0.3, 0));
  EXPECT_TRUE(std::equal(few[1].begin(), few[1].end(), many[1].begin()));
}

TEST(SplitRules, CharactersCutThroughADocumentButNotThroughACharacter) {
  const Scratch scratch;
  const std::string text = "abcdefgøøø";  // ten characters, 13 bytes
  const auto texts = divide({.directory = "out",
                             .train = {.files = {scratch.write("a", text)}},
                             .document_delimiter = DocumentDelimiter::File,
                             .split = SplitRule::Characters,
                             .valid_fraction = 0.2});
  EXPECT_THAT(texts[0], ElementsAre("abcdefgø"));
  EXPECT_THAT(texts[1], ElementsAre("øø"));
}

TEST(SplitRules, CharactersCutOneDocumentIntoThree) {
  const Scratch scratch;
  const auto texts = divide({.directory = "out",
                             .train = {.files = {scratch.write("a", "01\n23456789\n")}},
                             .document_delimiter = DocumentDelimiter::Line,
                             .split = SplitRule::Characters,
                             .valid_fraction = 0.5,
                             .test_fraction = 0.2});
  EXPECT_THAT(texts[0], ElementsAre("01", "2"));
  EXPECT_THAT(texts[1], ElementsAre("34567"));
  EXPECT_THAT(texts[2], ElementsAre("89"));
}

TEST(SplitRules, CutsEqualThoseOfTheFirstNinetyPercent) {
  EXPECT_EQ(position_cuts(1'115'394, 0.1, 0).first, 1'003'854);  // int(n * 0.9), as nanoGPT cuts
  EXPECT_EQ(position_cuts(1'115'394, 0.1, 0).second, 1'115'394);
  EXPECT_EQ(position_cuts(0, 0.1, 0.1).first, 0);
}

TEST(SplitRules, NothingIsLostWhereverCharactersAreCut) {
  const Scratch scratch;
  const std::string text = "a\nbø\n\x80\x80\nøøc\n\xff\n";  // also a document of continuation bytes alone
  const std::string file = scratch.write("a", text);
  for (int percent = 0; percent < 100; percent += 3) {
    const auto texts = divide({.directory = "out",
                               .train = {.files = {file}},
                               .document_delimiter = DocumentDelimiter::Line,
                               .split = SplitRule::Characters,
                               .valid_fraction = percent / 100.0});
    std::string all;
    for (const auto& split : texts) {
      for (const std::string& piece : split) all += piece;
    }
    EXPECT_EQ(all, "abø\x80\x80øøc\xff") << percent;
  }
}

}  // namespace
}  // namespace weft
