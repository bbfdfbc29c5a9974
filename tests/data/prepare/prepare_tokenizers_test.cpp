// SPDX-License-Identifier: Apache-2.0
// Preparation learns tokenizers from the training text, or takes the tokenizers that the job names.
#include <gmock/gmock.h>

#include "data/dataset/inspect.h"
#include "data/prepare/prepare.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Prepare, EachLanguageMayHaveItsOwnTokenizer) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "one two\teins\nthree\tzwei drei\n")});
  prepare({data, words_tokenizer(), words_tokenizer()});
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  EXPECT_EQ(dataset.header().source.tokenizer_file, "source-tokenizer.json");
  EXPECT_EQ(dataset.header().target.tokenizer_file, "target-tokenizer.json");
  EXPECT_NE(dataset.header().source.tokenizer_hash, dataset.header().target.tokenizer_hash);
  EXPECT_EQ(dataset.load_target_tokenizer()->decode(all_pairs(dataset)[1].second), "zwei drei");
  EXPECT_EQ(dataset.load_source_tokenizer()->decode(all_pairs(dataset)[0].first), "one two");
}

TEST(Prepare, OneTokenizerIsLearntFromBothLanguages) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "one\teins\n")});
  prepare({data, words_tokenizer()});
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  EXPECT_EQ(dataset.header().source.vocabulary, 5);
  EXPECT_EQ(dataset.load_target_tokenizer()->decode(all_pairs(dataset)[0].second), "eins");
}

TEST(Prepare, TokenizersLearnFromTrainingTextAlone) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one two\n")});
  data.valid.files = {scratch.write("b.txt", "one three\n")};
  data.max_unknown_fraction = 0.5;
  const PrepareReport report = prepare({data, words_tokenizer()});
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).source.unknown, 0);
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Valid).source.unknown, 1);
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Valid).source.text_tokens, 2);
  EXPECT_THAT(describe(report), HasSubstr("unk 50.000 %"));
}

TEST(Prepare, TooManyUnknownsAreAnErrorAndLeaveNothing) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one two\n")});
  data.valid.files = {scratch.write("b.txt", "one three\n")};
  data.max_unknown_fraction = 0.49;
  EXPECT_THAT(error_of([&] {
                prepare({data, words_tokenizer()});
              }),
              HasSubstr("split valid: 50.00 % of 2 tokens are unknown, more than the 49.00 %"));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(Prepare, ATokenizerLearnsFromASample) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += fmt::format("w{}\n", i);
  const DataConfig data = text_config(scratch, {scratch.write("a.txt", text)});
  TokenizerConfig words = words_tokenizer();
  words.sample_bytes = 400;
  DataConfig loose = data;
  loose.max_unknown_fraction = 1;
  const auto vocabulary = prepare({loose, words}).manifest.source.vocabulary;
  EXPECT_GT(vocabulary, 70);  // 400 bytes of four or five for each word, and three specials
  EXPECT_LT(vocabulary, 110);
}

TEST(Prepare, UnknownTextWithoutUnkNamesItsLine) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "ab\n")});
  data.test.files = {scratch.write("b.txt", "ab\nabz\n")};
  const TokenizerConfig chars = {.kind = TokenizerKind::Chars, .specials = {"</s>"}, .eos = "</s>"};
  EXPECT_THAT(error_of([&] { prepare({data, chars}); }), HasSubstr("b.txt:2: "));
}

TEST(Prepare, ASavedTokenizerIsUsedAsItIs) {
  const Scratch scratch;
  prepare({text_config(scratch, {scratch.write("a.txt", "one two three\n")}), words_tokenizer()});
  DataConfig data = text_config(scratch, {scratch.write("b.txt", "three one\n")});
  data.directory = (scratch / "second").string();
  data.tokenizer_file = (scratch / "out" / "tokenizer.json").string();
  prepare({data});
  const Dataset second = Dataset::open(data.directory, DataSplit::Train);
  EXPECT_EQ(second.header().source.tokenizer_hash,
            Dataset::open(scratch / "out", DataSplit::Train).header().source.tokenizer_hash);
  EXPECT_EQ(second.load_source_tokenizer()->decode(all_tokens(second)), "three one");
}

TEST(Prepare, TokenizersOfAnotherDatasetAreRefusedOnLoading) {
  const Scratch scratch;
  const DataConfig data = text_config(scratch, {scratch.write("a.txt", "one two three\n")});
  prepare({data, words_tokenizer()});
  DataConfig other = text_config(scratch, {scratch.write("b.txt", "four\n")});
  other.directory = (scratch / "other").string();
  prepare({other, words_tokenizer()});
  fs::copy_file(scratch / "other" / "tokenizer.json", scratch / "out" / "tokenizer.json",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { Dataset::open(data.directory, DataSplit::Train).load_source_tokenizer(); }),
              HasSubstr("is not the tokenizer that made this dataset"));
  EXPECT_THAT(verify_dataset(data.directory), ElementsAre(HasSubstr("is not the tokenizer")));
}

}  // namespace
}  // namespace weft
