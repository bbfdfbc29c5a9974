// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "data/dataset/inspect.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/source_dir.h"

// Datasets of earlier format versions, kept as they were written: every later weft reads them.
namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;

const fs::path kGolden = source_dir() / "tests" / "data" / "dataset" / "golden" / "dataset-v1";

DataConfig stream_config() {
  return {.directory = "stream",
          .train = {.files = {"text.txt"}},
          .split = SplitRule::Records,
          .valid_fraction = 0.4,
          .shard_tokens = 32};
}

DataConfig pairs_config() {
  return {.directory = "pairs", .format = TextFormat::Tsv, .train = {.files = {"pairs.tsv"}}, .source_bos = true};
}

DataConfig pairs_config_with_test() {
  DataConfig config = pairs_config();
  config.max_target_tokens = 5;
  config.max_unknown_fraction = 1;
  config.test.files = {"heldout.tsv"};
  return config;
}

const fs::path kGolden3 = source_dir() / "tests" / "data" / "dataset" / "golden" / "dataset-v3";

// This made dataset-v3/pairs and dataset-v3/stream, in a folder with copies of dataset-v1/*.t* and
// dataset-v2/heldout.tsv.
TEST(GoldenDataset, DISABLED_MakeVersion3) {
  prepare({stream_config(), bytes_tokenizer()});
  prepare({pairs_config_with_test(), words_tokenizer(), words_tokenizer()});
}

TEST(GoldenDataset, Version3IsRead) {
  EXPECT_TRUE(verify_dataset(kGolden3 / "pairs").empty());
  EXPECT_TRUE(verify_dataset(kGolden3 / "stream").empty());
  const Dataset test = Dataset::open(kGolden3 / "pairs", DataSplit::Test),
                train = Dataset::open(kGolden3 / "stream", DataSplit::Train);
  EXPECT_EQ(test.header().version, 3);
  EXPECT_EQ(test.read_reference(2), "tre fire fem seks tråder");
  EXPECT_EQ(train.load_source_tokenizer()->decode(all_tokens(train), {.show_specials = true}),
            "The warp runs along the loom,\nthe weft across it.</s>Thread over thread.</s>Grün, blå — 布.</s>");
}

const fs::path kGolden2 = source_dir() / "tests" / "data" / "dataset" / "golden" / "dataset-v2";

// This made dataset-v2/pairs, in a folder with a copy of dataset-v1/pairs.tsv and heldout.tsv.
TEST(GoldenDataset, DISABLED_MakeVersion2) {
  prepare({pairs_config_with_test(), words_tokenizer(), words_tokenizer()});
}

TEST(GoldenDataset, PairsOfVersion2AreReadWithTheirText) {
  EXPECT_TRUE(verify_dataset(kGolden2 / "pairs").empty());
  const Dataset train = Dataset::open(kGolden2 / "pairs", DataSplit::Train),
                test = Dataset::open(kGolden2 / "pairs", DataSplit::Test);
  EXPECT_EQ(test.header().version, 2);
  EXPECT_FALSE(train.header().references);
  ASSERT_TRUE(test.header().references);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < test.num_pairs(); ++i) texts.push_back(test.read_reference(i));
  EXPECT_THAT(texts, ElementsAre("to  tråder", "", "tre fire fem seks tråder"));
  EXPECT_EQ(test.header().target.num_unknown, 3);
}

// This made the folders stream/ and pairs/ from text.txt and pairs.tsv; run it in a copy of the folder:
//   data_prepare_test --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Make'
TEST(GoldenDataset, DISABLED_Make) {
  prepare({stream_config(), bytes_tokenizer()});
  prepare({pairs_config(), words_tokenizer(), words_tokenizer()});
}

TEST(GoldenDataset, StreamOfVersion1IsRead) {
  EXPECT_TRUE(verify_dataset(kGolden / "stream").empty());
  const Dataset train = Dataset::open(kGolden / "stream", DataSplit::Train);
  EXPECT_EQ(train.header().version, 1);
  EXPECT_FALSE(train.header().references);
  EXPECT_EQ(train.header().num_documents, 3);
  EXPECT_EQ(train.header().num_shards, 3);
  EXPECT_EQ(train.header().source.tokenizer_hash, 0x6b582afdc1314c63u);
  const auto tokenizer = train.load_source_tokenizer();
  EXPECT_EQ(tokenizer->decode(all_tokens(train), {.show_specials = true}),
            "The warp runs along the loom,\nthe weft across it.</s>Thread over thread.</s>Grün, blå — 布.</s>");
  const Dataset valid = Dataset::open(kGolden / "stream", DataSplit::Valid);
  EXPECT_EQ(tokenizer->decode(all_tokens(valid), {.show_specials = true}), "A fourth text.</s>And the last.</s>");
  EXPECT_EQ(train.document_begin(2), 70);
}

TEST(GoldenDataset, PairsOfVersion1AreRead) {
  EXPECT_TRUE(verify_dataset(kGolden / "pairs").empty());
  const Dataset train = Dataset::open(kGolden / "pairs", DataSplit::Train);
  const auto source = train.load_source_tokenizer(), target = train.load_target_tokenizer();
  std::vector<std::string> rows;
  for (const auto& [s, t] : all_pairs(train)) {
    rows.push_back(source->decode(s, {.show_specials = true}) + " | " + target->decode(t, {.show_specials = true}));
  }
  EXPECT_THAT(rows,
              ElementsAre("<s> two threads </s> | <s> to tråder </s>", "<s> three threads </s> | <s> tre tråder </s>"));
}

// The manifests store keys of the job under their old names.
TEST(GoldenDataset, ArePreparedAlreadyThoughKeysWereRenamed) {
  const Scratch scratch;
  fs::copy(kGolden, scratch.path(), fs::copy_options::recursive);
  const fs::path here = fs::current_path();
  fs::current_path(scratch.path());
  const PrepareReport stream = prepare({stream_config(), bytes_tokenizer()});
  DataConfig longer = pairs_config();
  longer.max_source_tokens = 9;
  std::string changed;
  try {
    prepare({longer, words_tokenizer(), words_tokenizer()});
  } catch (const Error& error) {
    changed = error.what();
  }
  const PrepareReport pairs = prepare({pairs_config(), words_tokenizer(), words_tokenizer()});
  fs::current_path(here);
  EXPECT_TRUE(stream.already_prepared);
  EXPECT_TRUE(pairs.already_prepared);
  EXPECT_THAT(changed, testing::HasSubstr("data.max_source_tokens was \"0\" and is now \"9\""));
}

}  // namespace
}  // namespace weft
