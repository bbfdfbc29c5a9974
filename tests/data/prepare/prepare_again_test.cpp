// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "data/dataset/inspect.h"
#include "data/prepare/journal.h"
#include "data/prepare/output.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;
using testing::HasSubstr;

// A small dataset, and what prepare() does with it when run again.
class PrepareAgain : public testing::Test {
 protected:
  PrepareAgain() {
    data_ = text_config(scratch_, {scratch_.write("a.txt", "one two\n"), scratch_.write("b.txt", "three\n")});
    data_.shard_tokens = 3;
    prepare({data_, words_tokenizer()});
    before_ = contents(data_.directory);
  }
  PrepareReport again(bool force = false) { return prepare({data_, words_tokenizer()}, {.force = force}); }
  template <class Change>
  void change_manifest(Change&& change) {
    Manifest manifest = read_manifest(data_.directory);
    change(manifest);
    write_file_atomically(fs::path(data_.directory) / kManifestName, manifest_text(manifest));
  }
  std::string refusal() {
    return error_of([&] { again(); });
  }

  Scratch scratch_;
  DataConfig data_;
  std::map<std::string, std::string> before_;
};

TEST_F(PrepareAgain, EqualPreparationsAreDoneOnce) {
  const auto written = fs::last_write_time(scratch_ / "out" / kManifestName);
  const PrepareReport report = again();
  EXPECT_TRUE(report.already_prepared);
  EXPECT_THAT(describe(report), HasSubstr("nothing to do"));
  EXPECT_EQ(fs::last_write_time(scratch_ / "out" / kManifestName), written);
  EXPECT_EQ(contents(data_.directory), before_);
}

TEST_F(PrepareAgain, ANewModificationTimeChangesNothing) {
  fs::last_write_time(scratch_ / "a.txt", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(again().already_prepared);
}

TEST_F(PrepareAgain, ChangedTextIsRefusedUnlessForced) {
  scratch_.write("a.txt", "one 2wo\n");  // a text of the same size
  fs::last_write_time(scratch_ / "a.txt", fs::file_time_type::clock::now() + std::chrono::hours(1));
  EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("already holds another dataset"), HasSubstr("a.txt has changed")));
  EXPECT_EQ(contents(data_.directory), before_);
  const PrepareReport forced = again(true);
  EXPECT_FALSE(forced.already_prepared);
  EXPECT_THAT(describe(forced), HasSubstr("replaced the dataset that was there"));
  const Dataset dataset = Dataset::open(data_.directory, DataSplit::Train);
  EXPECT_EQ(dataset.load_source_tokenizer()->decode(all_tokens(dataset)), "one 2wo three");
}

TEST_F(PrepareAgain, DifferencesAreNamed) {
  data_.shard_tokens = 4;
  EXPECT_THAT(refusal(), HasSubstr("data.shard_tokens was \"3\" and is now \"4\""));
  data_.shard_tokens = 3;
  data_.train.files.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("it was made from 2 files, now there are 1"));
  data_.valid.files = {(scratch_ / "b.txt").string()};
  EXPECT_THAT(refusal(), HasSubstr("b.txt was read for data.train.files where"));
  data_.valid.files = {};
  data_.train.files.push_back(scratch_.write("b.txt", "three four\n"));
  EXPECT_THAT(refusal(), HasSubstr("had 6 bytes and has 11"));
  EXPECT_THAT(error_of([&] { prepare({data_, bytes_tokenizer()}); }), HasSubstr("tokenizer."));
}

// A dataset of a version without this key was made as the key's default says.
TEST_F(PrepareAgain, AKeyThatCameLaterCountsAsItsDefault) {
  change_manifest([](Manifest& manifest) {
    EXPECT_EQ(manifest.settings.erase("data.answer_field"), 1u);
    EXPECT_EQ(manifest.settings.erase("tokenizer.pattern"), 1u);
    manifest.settings["data.a_later_key"] = "3";
  });
  EXPECT_THAT(refusal(), HasSubstr("data.a_later_key was \"3\" and is gone"));
  change_manifest([](Manifest& manifest) { manifest.settings.erase("data.a_later_key"); });
  EXPECT_TRUE(again().already_prepared);
  data_.answer_field = "reply";
  EXPECT_THAT(refusal(), HasSubstr("data.answer_field was \"answer\" and is now \"reply\""));
}

TEST_F(PrepareAgain, AcceptedDifferencesChangeNothing) {
  data_.max_unknown_fraction = 0.9;
  data_.max_bad_fraction = 0.9;
  data_.max_record_bytes = 1000;
  EXPECT_TRUE(again().already_prepared);
}

TEST_F(PrepareAgain, AnotherFileNameChangesNothing) {
  fs::create_directory(scratch_ / "moved");
  for (const char* name : {"a.txt", "b.txt"}) fs::copy_file(scratch_ / name, scratch_ / "moved" / name);
  data_.train.files = {(scratch_ / "moved/*.txt").string()};
  EXPECT_TRUE(again().already_prepared);
  data_.train.files = {(scratch_ / "moved/../moved/a.txt").string(), (scratch_ / "b.txt").string()};
  EXPECT_TRUE(again().already_prepared);
  data_.train.files = {(scratch_ / "moved/b.txt").string(), (scratch_ / "moved/a.txt").string()};
  EXPECT_THAT(refusal(), HasSubstr("b.txt had 8 bytes and has 6"));
}

TEST_F(PrepareAgain, TextMayBeDeletedAfterPreparation) {
  fs::remove(scratch_ / "a.txt");
  const PrepareReport report = again();
  EXPECT_TRUE(report.already_prepared);
  EXPECT_THAT(describe(report), HasSubstr("its text cannot be compared: "));
  EXPECT_THAT(error_of([&] { again(true); }), HasSubstr("a.txt: no such file"));
  data_.shard_tokens = 4;
  EXPECT_THAT(refusal(), HasSubstr("a.txt: no such file"));
  EXPECT_EQ(contents(data_.directory), before_);
}

// Datasets of earlier versions do not record for which key a file was read: the names themselves are compared.
TEST_F(PrepareAgain, ListsAreShownAsLists) {
  change_manifest([](Manifest& manifest) {
    for (InputEntry& input : manifest.inputs) input.role.clear();
  });
  EXPECT_TRUE(again().already_prepared);
  data_.train.files.pop_back();
  EXPECT_THAT(refusal(), testing::ContainsRegex("data.train.files was \"\\[[^\n]*a.txt, [^\n]*b.txt\\]\" and is now "));
}

TEST_F(PrepareAgain, ForcingRemovesShardsThatAreNoLongerPartOfIt) {
  ASSERT_TRUE(before_.contains("train-00001.h5"));
  scratch_.write("out/mine.txt", "not weft's");
  data_.shard_tokens = 100;
  again(true);
  const auto now = contents(data_.directory);
  EXPECT_FALSE(now.contains("train-00001.h5"));
  EXPECT_TRUE(now.contains("mine.txt"));
  EXPECT_EQ(now.size(), 4u);
}

TEST_F(PrepareAgain, ADamagedDatasetOfTheSameTextIsRebuilt) {
  fs::resize_file(scratch_ / "out" / "train-00000.h5", 100);
  const PrepareReport report = again();
  EXPECT_FALSE(report.already_prepared);
  EXPECT_THAT(report.replaced, HasSubstr("train-00000.h5"));
  EXPECT_EQ(contents(data_.directory), before_);
  fs::remove(scratch_ / "out" / "tokenizer.json");
  EXPECT_FALSE(again().already_prepared);
  EXPECT_EQ(contents(data_.directory), before_);
}

TEST_F(PrepareAgain, ADamagedManifestIsReplacedOnlyByForce) {
  const std::string whole = read_file(scratch_ / "out/dataset.json");
  scratch_.write("out/dataset.json", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal(), HasSubstr("dataset.json is damaged"));
  again(true);
  EXPECT_EQ(contents(data_.directory), before_);
}

TEST_F(PrepareAgain, LeftoversOfAKilledPreparationAreCleared) {
  fs::create_directory(scratch_ / "out" / kStagingName);
  scratch_.write(fmt::format("out/{}/train-00007.h5.tmp", kStagingName), "x");
  data_.shard_tokens = 100;
  again(true);
  EXPECT_FALSE(fs::exists(scratch_ / "out" / kStagingName));
}

// A preparation that was killed when its dataset was whole has removed its journal, and not yet the folder. One with a
// journal is another preparation's, which may be resumed.
TEST_F(PrepareAgain, AFolderLeftBehindAWholeDatasetIsCleared) {
  const fs::path staging = scratch_ / "out" / kStagingName;
  fs::create_directory(staging);
  scratch_.write(fmt::format("out/{}/.{}.weft-0123abcd", kStagingName, kJournalName), "x");
  EXPECT_TRUE(again().already_prepared);
  EXPECT_FALSE(fs::exists(staging));
  EXPECT_EQ(contents(data_.directory), before_);
  fs::create_directory(staging);
  scratch_.write(fmt::format("out/{}/{}", kStagingName, kJournalName), "x");
  EXPECT_TRUE(again().already_prepared);
  EXPECT_TRUE(fs::exists(staging / kJournalName));
}

TEST_F(PrepareAgain, OthersFilesAreLeftAsTheyAre) {
  for (const char* name : {"out/train-00007.h5.tmp", "out/dataset.json.tmp", "out/train-00000.h5.tmp"}) {
    scratch_.write(name, "thesis");
  }
  data_.shard_tokens = 100;
  again(true);
  for (const char* name : {"out/train-00007.h5.tmp", "out/dataset.json.tmp", "out/train-00000.h5.tmp"}) {
    EXPECT_EQ(read_file(scratch_ / name), "thesis") << name;
  }
}

TEST_F(PrepareAgain, AnothersManifestOrTokenizerIsNotReplacedEvenByForce) {
  fs::remove_all(scratch_ / "out");
  for (const char* name : {"out/dataset.json", "out/tokenizer.json"}) {
    fs::create_directory(scratch_ / "out");
    scratch_.write(name, R"({"name": "thesis"})");
    for (const bool force : {false, true}) {
      EXPECT_THAT(error_of([&] { again(force); }), HasSubstr(std::string(name) + " was not written by weft"));
    }
    EXPECT_EQ(read_file(scratch_ / name), R"({"name": "thesis"})");
    fs::remove_all(scratch_ / "out");
  }
}

TEST_F(PrepareAgain, NoInputIsWrittenOver) {
  const fs::path directory = scratch_ / "texts";
  fs::create_directory(directory);
  data_.directory = directory.string();
  for (const char* name : {"dataset.json", "tokenizer.json", "train-00000.h5"}) {
    const std::string input = scratch_.write(std::string("texts/") + name, "one two\n");
    data_.train.files = {input};
    for (const bool force : {false, true}) {
      EXPECT_THAT(error_of([&] { again(force); }), HasSubstr("data.train.files: " + input + " would be written over"));
    }
    EXPECT_THAT(contents(directory), ElementsAre(testing::Pair(name, "one two\n")));
    fs::remove(input);
  }
}

TEST_F(PrepareAgain, AForeignTokenizerInTheDirectoryIsNotWrittenOver) {
  const fs::path directory = scratch_ / "hub", file = directory / "tokenizer.json";
  fs::create_directory(directory);
  fs::copy_file(fs::path(source_dir()) / "tests/data/tokenizer/foreign/gpt2.json", file);
  const std::string before = read_file(file);
  data_.directory = directory.string();
  const TokenizerConfig tokenizer{.kind = TokenizerKind::HuggingFace, .model_file = file.string()};
  EXPECT_THAT(error_of([&] { prepare({data_, tokenizer}); }), HasSubstr("tokenizer.model_file: " + file.string()));
  EXPECT_EQ(read_file(file), before);
}

// A shard of weft's that no manifest names was left by a preparation that the power ended.
TEST_F(PrepareAgain, AForeignFileWithTheNameOfAShardIsNotWrittenOver) {
  fs::remove(scratch_ / "out/dataset.json");
  again(false);
  EXPECT_EQ(contents(data_.directory), before_);
  fs::remove(scratch_ / "out/dataset.json");
  for (const std::string foreign : {"", "thesis", "\x89HDF\r\n\x1a\n of another program"}) {
    const std::string name = scratch_.write("out/train-00000.h5", foreign);
    for (const bool force : {false, true}) {
      EXPECT_THAT(error_of([&] { again(force); }), HasSubstr(name + " was not written by weft"));
    }
    EXPECT_EQ(read_file(name), foreign);
  }
}

TEST_F(PrepareAgain, ATokenizerOfWeftIsTakenFromTheDirectoryItself) {
  data_.tokenizer_file = (scratch_ / "out/tokenizer.json").string();
  data_.shard_tokens = 100;
  again(true);
  EXPECT_EQ(read_file(scratch_ / "out/tokenizer.json"), before_.at("tokenizer.json"));
}

TEST_F(PrepareAgain, TwoAtOnceAreRefused) {
  const OutputDirectory other(scratch_ / "out");
  data_.shard_tokens = 100;
  EXPECT_THAT(error_of([&] { again(true); }), HasSubstr("is being prepared by another process"));
}

TEST_F(PrepareAgain, FailureLeavesTheOldDatasetAsItWas) {
  scratch_.write("b.txt", "three\n\xff\n");
  EXPECT_THAT(error_of([&] { again(true); }), HasSubstr("b.txt:2"));
  EXPECT_EQ(contents(data_.directory), before_);
}

TEST_F(PrepareAgain, VerifyNamesEveryDamagedShard) {
  EXPECT_TRUE(verify_dataset(data_.directory).empty());
  const Manifest manifest = read_manifest(data_.directory);
  for (const ShardEntry& shard : manifest.splits.at(DataSplit::Train).shards) {
    const uint16_t other = 0;  // an id in range: only the checksum shows the change
    File(scratch_ / "out" / shard.file, File::Mode::ReadWrite).write_at(shard.source.offset, &other, 2);
  }
  Dataset::open(data_.directory, DataSplit::Train);
  EXPECT_THAT(verify_dataset(data_.directory),
              ElementsAre(HasSubstr("train-00000.h5 is damaged"), HasSubstr("train-00001.h5 is damaged")));
}

TEST_F(PrepareAgain, DescriptionHasCountsAndHashes) {
  const std::string text = describe_dataset(data_.directory);
  EXPECT_THAT(text, HasSubstr("version 3, stream, ids of 2 bytes"));
  EXPECT_THAT(text, HasSubstr("tokenizer: tokenizer.json, vocabulary 6, hash "));
  EXPECT_THAT(text, HasSubstr("train: 2 documents in 2 shards"));
  EXPECT_THAT(text, HasSubstr("a.txt, 8 bytes"));
}

}  // namespace
}  // namespace weft
