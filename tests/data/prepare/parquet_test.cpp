// SPDX-License-Identifier: Apache-2.0
// Parquet files by pyarrow (make_parquet.py), and what is said of those that are damaged.
#include <gmock/gmock.h>

#include "data/parquet/library.h"
#include "data/parquet/parquet_file.h"
#include "data/prepare/records/record_reader.h"
#include "tests/data/prepare/fixture.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/error_of.h"
#include "tests/support/source_dir.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string parquet_file(const std::string& name) {
  return (source_dir() / "tests/data/prepare/parquet" / name).string();
}

std::string error_of_rows(const DataConfig& config) {
  return error_of<DataError>([&] { read_records(config); });
}

class Parquet : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string found = describe_parquet(); found.starts_with("no: ")) GTEST_SKIP() << found;
  }
  DataConfig config(const std::string& file, TextFormat format = TextFormat::Parquet) const {
    return {.directory = (scratch_ / "out").string(), .format = format, .train = {.files = {file}}};
  }
  // What is said of a file of these bytes: its name is in place of FILE.
  std::string error_of_bytes(std::string_view bytes) const {
    const MemoryFile file({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    const std::string name = file.path().string(), error = error_of<DataError>([&] { read_records(config(name)); });
    return error.starts_with(name) ? "FILE" + error.substr(name.size()) : error;
  }
  // All files of the dataset but its manifest, which names the text's format and file.
  std::map<std::string, std::string> dataset(const DataConfig& data, int threads = 2) const {
    fs::remove_all(data.directory);
    prepare({data, words_tokenizer()}, {.threads = threads});
    auto files = contents(data.directory);
    EXPECT_EQ(files.erase("dataset.json"), 1u);
    EXPECT_GE(files.size(), 2u);
    return files;
  }

  const Scratch scratch_;
};

TEST_F(Parquet, MakesTheDatasetOfTheSameJsonLines) {
  const auto expected = dataset(config(parquet_file("documents.jsonl"), TextFormat::Jsonl));
  for (const int threads : {1, 3}) {
    EXPECT_EQ(dataset(config(parquet_file("documents-snappy.parquet")), threads), expected) << threads;
  }
}

TEST_F(Parquet, TheWayInWhichTextIsStoredMakesNoDifference) {
  const RecordsRead lines = read_records(config(parquet_file("documents.jsonl"), TextFormat::Jsonl));
  for (const char* stored : {"none", "snappy", "gzip", "zstd", "dictionary", "large", "delta", "required"}) {
    const RecordsRead rows = read_records(config(parquet_file(fmt::format("documents-{}.parquet", stored))));
    EXPECT_EQ(rows.texts, lines.texts) << stored;
    EXPECT_EQ(rows.lines, lines.lines) << stored;
  }
  EXPECT_LT(lines.texts.size(), size_t{90}) << "no row is empty";
}

TEST_F(Parquet, MakesTheDatasetOfTheSamePromptsAndAnswers) {
  const auto expected = dataset(config(parquet_file("answers.jsonl"), TextFormat::PromptAnswer));
  EXPECT_EQ(dataset(config(parquet_file("answers.parquet"), TextFormat::ParquetPromptAnswer)), expected);
  DataConfig reversed = config(parquet_file("answers.parquet"), TextFormat::ParquetPromptAnswer);
  std::swap(reversed.prompt_field, reversed.answer_field);
  EXPECT_NE(dataset(reversed), expected);
}

TEST_F(Parquet, TextsOfManyPiecesAndRowGroupsAreWhole) {
  const RecordsRead read = read_records(config(parquet_file("long.parquet")));
  ASSERT_EQ(read.texts.size(), 40u);
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(read.lines[i], static_cast<int64_t>(i) + 1);
    const std::string begin = fmt::format("{} abcdefghi abc", i);
    EXPECT_TRUE(read.texts[i].starts_with(begin) && read.texts[i].size() == begin.size() - 13 + 100'000) << i;
  }
}

TEST_F(Parquet, FilesFollowOneAnotherAndOneWithoutRowsIsNone) {
  DataConfig data = config(parquet_file("types.parquet"));
  data.train.files = {parquet_file("types.parquet"), parquet_file("empty.parquet"), parquet_file("types.parquet")};
  const RecordsRead read = read_records(data);
  EXPECT_THAT(read.texts, ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(read.lines, ElementsAre(1, 2, 1, 2));
}

TEST_F(Parquet, NullsAreBadRecordsAsThoseOfJsonLinesAre) {
  const std::string file = parquet_file("nulls.parquet");
  EXPECT_THAT(error_of_rows(config(file)),
              AllOf(HasSubstr("nulls.parquet:2: column \"text\" is null"), HasSubstr("data.json_field says"),
                    HasSubstr("data.bad_records: skip")));
  DataConfig skipping = config(file);
  skipping.bad_records = BadRecordPolicy::Skip;
  DataConfig lines = config(parquet_file("nulls.jsonl"), TextFormat::Jsonl);
  lines.bad_records = BadRecordPolicy::Skip;
  const RecordsRead rows = read_records(skipping);
  EXPECT_EQ(rows.texts, read_records(lines).texts);
  EXPECT_EQ(rows.texts.size(), 20u);
  EXPECT_EQ(rows.skipped.reasons, read_records(lines).skipped.reasons);
}

TEST_F(Parquet, TextThatIsNoneIsNamedWithItsRow) {
  EXPECT_THAT(error_of_rows(config(parquet_file("nul.parquet"))), HasSubstr("nul.parquet:2: a NUL byte"));
  DataConfig small = config(parquet_file("long.parquet"));
  small.max_record_bytes = 100'001;
  EXPECT_THAT(error_of_rows(small), HasSubstr("long.parquet:1: a record of more than 100001 bytes"));
  small.max_record_bytes = 100'002;
  EXPECT_THAT(error_of_rows(small), HasSubstr("long.parquet:11: a record of more than 100002 bytes"));
  small.max_record_bytes = 100'003;
  EXPECT_EQ(read_records(small).texts.size(), 40u);
}

TEST_F(Parquet, AColumnThatIsNoTextIsRefusedWithTheColumnsThereAre) {
  const auto error = [&](const std::string& column) {
    DataConfig data = config(parquet_file("types.parquet"));
    data.json_field = column;
    return error_of_rows(data);
  };
  EXPECT_THAT(error("body"),
              AllOf(HasSubstr("types.parquet: no column \"body\", only: \"id\" (int64), \"text\" (string), "
                              "\"list\" (list), \"pair\" (struct), \"bytes\" (binary), \"day\" (date), "
                              "\"map\" (map) ["),
                    HasSubstr("data.json_field names")));
  EXPECT_THAT(error("id"), HasSubstr("column \"id\" is no text but int64, only: "));
  EXPECT_THAT(error("list"), HasSubstr("column \"list\" is no text but list"));
  EXPECT_THAT(error("pair"), HasSubstr("column \"pair\" is no text but struct"));
  EXPECT_THAT(error("pair.en"), HasSubstr("no column \"pair.en\""));
  EXPECT_THAT(error("bytes"), HasSubstr("column \"bytes\" is no text but binary"));
  DataConfig answers = config(parquet_file("types.parquet"), TextFormat::ParquetPromptAnswer);
  answers.prompt_field = "text", answers.answer_field = "reply";
  EXPECT_THAT(error_of_rows(answers), AllOf(HasSubstr("no column \"reply\""), HasSubstr("data.answer_field names")));
}

TEST_F(Parquet, AFileOfAnotherFormatIsRefused) {
  EXPECT_THAT(error_of_rows(config(parquet_file("documents.jsonl"))),
              HasSubstr("documents.jsonl: cannot be read as Parquet: "));
  EXPECT_THAT(error_of_bytes(""), HasSubstr("FILE: cannot be read as Parquet: "));
  EXPECT_THAT(error_of_rows(config(parquet_file("types.parquet"), TextFormat::Jsonl)),
              AllOf(HasSubstr("types.parquet: a Parquet file, not text"), HasSubstr("data.format: parquet ")));
  DataConfig data = config(parquet_file("types.parquet"));
  data.skip_lines = 1;
  EXPECT_THAT(error_of<ConfigError>([&] { data.check(); }), HasSubstr("format parquet has no lines"));
}

// Whatever is cut off is missed, and whatever byte changes, a file is read or refused by name.
TEST_F(Parquet, DamagedFilesAreRefusedByName) {
  const std::string whole = read_file(parquet_file("documents-zstd.parquet"));
  for (size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_THAT(error_of_bytes(whole.substr(0, size)), HasSubstr("FILE: cannot be read as Parquet: "));
  }
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << at % 8));
    const std::string error = error_of_bytes(bytes);
    const bool read = error == "no error";
    refused += !read;
    EXPECT_TRUE(read || error.starts_with("FILE:")) << at << ": " << error;
  }
  EXPECT_GT(refused, 500);
}

TEST_F(Parquet, APageTakesNoMoreMemoryThanRecordsMay) {
  DataConfig data = config((source_dir() / "tests/fuzz/parquet/damaged_page_of_2_GiB").string());
  data.max_record_bytes = 1000;
  EXPECT_THAT(error_of_rows(data),
              AllOf(HasSubstr("a page needs 2147483648 bytes of memory, and 268"), HasSubstr("of 268435456 are left")));
}

TEST_F(Parquet, ADamagedPageIsNamedWithItsRowGroup) {
  std::string bytes = read_file(parquet_file("documents-none.parquet"));
  const size_t last =
      bytes.rfind(std::string("\0the", 4));  // its length stands before a text, here of the last row group
  ASSERT_NE(last, std::string::npos);
  bytes[last] = '\x7F';
  EXPECT_THAT(error_of_bytes(bytes), HasSubstr("FILE: cannot be read as Parquet: row group 3 of 3: "));
}

}  // namespace
}  // namespace weft
