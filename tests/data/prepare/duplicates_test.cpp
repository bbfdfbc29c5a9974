// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/duplicates.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

std::string words_of(const DataConfig& data, DataSplit split) {
  const Dataset dataset = Dataset::open(data.directory, split);
  return dataset.load_source_tokenizer()->decode(all_tokens(dataset));
}

// Three splits with lines that are repeated within a split and in other splits.
DataConfig three_splits(const Scratch& scratch, DuplicatePolicy policy) {
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "a\nb\na\nc\nd\na\n")});
  data.valid.files = {scratch.write("b.txt", "b\nx\nx\nb\n")};
  data.test.files = {scratch.write("c.txt", "x\nd\ny\n")};
  data.duplicates = policy;
  data.max_unknown_fraction = 1;
  return data;
}

TEST(Duplicates, DuplicatesAreKeptAndNotCountedByDefault) {
  const Scratch scratch;
  const DataConfig data = three_splits(scratch, DuplicatePolicy::Keep);
  const PrepareReport report = prepare({data, words_tokenizer()});
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).records, 6);
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).duplicates, 0);
}

TEST(Duplicates, DuplicatesAreCountedWithinASplitAndBetweenSplits) {
  const Scratch scratch;
  const DataConfig data = three_splits(scratch, DuplicatePolicy::Count);
  const PrepareReport report = prepare({data, words_tokenizer()});
  const Manifest manifest = read_manifest(data.directory);
  const SplitEntry &train = manifest.splits.at(DataSplit::Train), &valid = manifest.splits.at(DataSplit::Valid),
                   &test = manifest.splits.at(DataSplit::Test);
  EXPECT_EQ(train.records, 6);
  EXPECT_EQ(train.duplicates, 2);
  EXPECT_EQ(train.dropped_duplicate, 0);
  EXPECT_EQ(valid.duplicates, 2);
  EXPECT_EQ(valid.in_train, 2);
  EXPECT_EQ(test.duplicates, 0);
  EXPECT_EQ(test.in_train, 1);
  EXPECT_THAT(describe(report), HasSubstr("1 document is in the training text too"));
}

TEST(Duplicates, DroppedDuplicatesLeaveTrainingTextOnly) {
  const Scratch scratch;
  const DataConfig data = three_splits(scratch, DuplicatePolicy::Drop);
  const PrepareReport report = prepare({data, words_tokenizer()});
  EXPECT_EQ(words_of(data, DataSplit::Train), "a c");
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).dropped_duplicate, 4);
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Valid).records, 4);
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Test).records, 3);
  EXPECT_EQ(Dataset::open(data.directory, DataSplit::Train).header().source.vocabulary, 5);  // learnt from what remains
  EXPECT_THAT(describe(report), HasSubstr("1 document was in the training text too, which lost it"));
}

TEST(Duplicates, NoTextIsOnBothSidesOfASplitByHashOrPosition) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += fmt::format("w{}\n", i * i % 997);
  for (const SplitRule rule : {SplitRule::Hash, SplitRule::Records}) {
    DataConfig data = text_config(scratch, {scratch.write("a.txt", text)});
    data.split = rule, data.valid_fraction = 0.1, data.duplicates = DuplicatePolicy::Drop;
    data.max_unknown_fraction = 1;
    // One id for each word, so that equal ids are equal text.
    TokenizerConfig bytes = bytes_tokenizer();
    prepare({data, bytes}, {.force = true});
    std::set<std::string> held_out;
    std::istringstream valid(words_of(data, DataSplit::Valid)), train(words_of(data, DataSplit::Train));
    int64_t kept = 0;
    for (std::string word; std::getline(valid, word, 'w');) held_out.insert(word);
    std::set<std::string> seen;
    for (std::string word; std::getline(train, word, 'w');) {
      if (word.empty()) continue;
      EXPECT_FALSE(held_out.contains(word)) << word;
      EXPECT_TRUE(seen.insert(word).second) << word;
      ++kept;
    }
    EXPECT_GT(kept, 50);
  }
}

TEST(Duplicates, PairsAreEqualWhereBothSidesAre) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "a\tb c\na b\tc\na\tb\na\tb c\nab\t c\n")});
  data.duplicates = DuplicatePolicy::Drop;
  EXPECT_EQ(prepare({data, bytes_tokenizer()}).manifest.splits.at(DataSplit::Train).records, 4);
}

}  // namespace
}  // namespace weft
