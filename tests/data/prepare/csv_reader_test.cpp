// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "data/prepare/records/record_reader.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

DataConfig csv(const Scratch& scratch, std::vector<std::string> files) {
  return {.directory = (scratch / "out").string(), .format = TextFormat::Csv, .train = {.files = std::move(files)}};
}

TEST(Csv, QuotedFieldsHoldCommasQuotesAndLineEnds) {
  const Scratch scratch;
  const std::string file = scratch.write("a.csv",
                                         "id,text,year\n"
                                         "1,\"one, two\",2001\n"
                                         "2,\"line\nand\r\nline\",2002\n"
                                         "3,\"a \"\"quoted\"\" word\",2003\n"
                                         "4,plain,2004\n"
                                         "5,\"\"\"\",2005");
  const RecordsRead read = read_records(csv(scratch, {file}));
  EXPECT_THAT(read.texts, ElementsAre("one, two", "line\nand\r\nline", "a \"quoted\" word", "plain", "\""));
  EXPECT_THAT(read.lines, ElementsAre(2, 3, 6, 7, 8));
  EXPECT_EQ(read.file_checksums.size(), 1u);
}

TEST(Csv, LineEndsMayBeThoseOfWindowsAndEmptyLinesAreSkipped) {
  const Scratch scratch;
  const std::string file =
      scratch.write("a.csv", "\xEF\xBB\xBFtext\r\none\r\n\r\n\"two\"\r\n\"\"\r\nthree\rfour\r\n\nlast\r");
  const RecordsRead read = read_records(csv(scratch, {file}));
  EXPECT_THAT(read.texts, ElementsAre("one", "two", "three\rfour", "last"));
  EXPECT_THAT(read.lines, ElementsAre(2, 4, 6, 8));
}

// Each file names its columns; json_field chooses among them, and an empty text is no document.
TEST(Csv, TheColumnIsChosenByItsNameInEachFile) {
  const Scratch scratch;
  DataConfig config = csv(scratch, {scratch.write("a.csv", "body,id\none,1\n,2\nthree,3\n"), scratch.write("b.csv", ""),
                                    scratch.write("c.csv", "id,\"body\"\n4,four\n"), scratch.write("d.csv", "body\n")});
  config.json_field = "body";
  EXPECT_THAT(read_records(config).texts, ElementsAre("one", "three", "four"));
}

TEST(Csv, LinesBeforeTheHeaderAreSkipped) {
  const Scratch scratch;
  DataConfig config = csv(scratch, {scratch.write("a.csv", "made by, a \"tool\n# 2024\ntext\none\n")});
  config.skip_lines = 2;
  const RecordsRead read = read_records(config);
  EXPECT_THAT(read.texts, ElementsAre("one"));
  EXPECT_THAT(read.lines, ElementsAre(4));
}

TEST(Csv, CompressedFilesAreRead) {
  const Scratch scratch;
  write_gz(scratch, "a.csv.gz", "text\n\"one\nline\"\n");
  EXPECT_THAT(read_records(csv(scratch, {(scratch / "a.csv.gz").string()})).texts, ElementsAre("one\nline"));
}

TEST(Csv, FieldsAreWholeWhereverTheReadingStops) {
  const Scratch scratch;
  std::string text = "text,n\n";
  std::vector<std::string> expected;
  for (int i = 0; i < 3000; ++i) {
    expected.push_back(std::string(static_cast<size_t>(1 + i % 700), 'a') + "\"\n,");
    text += "\"" + expected.back().substr(0, expected.back().size() - 3) + "\"\"\n,\"," + std::to_string(i) + "\r\n";
  }
  EXPECT_EQ(read_records(csv(scratch, {scratch.write("a.csv", text)})).texts, expected);
}

TEST(Csv, AFileWithoutTheColumnIsRefused) {
  const Scratch scratch;
  for (const BadRecordPolicy policy : {BadRecordPolicy::Stop, BadRecordPolicy::Skip}) {
    const auto error = [&](const std::string& text) {
      DataConfig config = csv(scratch, {scratch.write("a.csv", text)});
      config.bad_records = policy;
      return error_of([&] { read_records(config); });
    };
    EXPECT_THAT(error("\nid,body\n1,x\n"),
                AllOf(HasSubstr("a.csv:2: no column \"text\", only: id, body"), HasSubstr("data.json_field names")));
    EXPECT_THAT(error("text,text\n1,x\n"), HasSubstr("a.csv:1: more than one column \"text\""));
    EXPECT_THAT(error(std::string("t\0e\0x\0t\0\n\0", 10)), HasSubstr("a.csv:1: a NUL byte: this is not text"));
    EXPECT_THAT(error("\"text\n"), HasSubstr("a.csv:1: a quote that is not closed"));
  }
}

TEST(Csv, BadRecordsAreNamedWithTheirLine) {
  const Scratch scratch;
  const auto error = [&](const std::string& record) {
    const std::string file = scratch.write("a.csv", "id,text\n1,\"fine\nline\"\n" + record);
    return error_of([&] { read_records(csv(scratch, {file})); });
  };
  EXPECT_THAT(error("2,\"open\n3,x\n"), HasSubstr("a.csv:4: a quote that is not closed before the end of the file"));
  EXPECT_THAT(error("2,\"a\nb\" c\n"),
              AllOf(HasSubstr("a.csv:5: text behind a closing quote"), HasSubstr("double the")));
  EXPECT_THAT(error("2,\"a\"\rb\n"), HasSubstr("a.csv:4: text behind a closing quote"));
  EXPECT_THAT(error("2,say \"hi\"\n"), HasSubstr("a.csv:4: a quote inside a field that does not begin with one"));
  EXPECT_THAT(error("2\n"), HasSubstr("a.csv:4: 1 field, but the file has 2 columns"));
  EXPECT_THAT(error("2,a, b\n"),
              AllOf(HasSubstr("a.csv:4: 3 fields, but the file has 2 columns"), HasSubstr("quotes")));
  EXPECT_THAT(error(std::string("2,\"a\nb\0\"\n", 9)), HasSubstr("a.csv:5: a NUL byte"));
}

TEST(Csv, SkippingGoesToTheNextLine) {
  const Scratch scratch;
  DataConfig config =
      csv(scratch, {scratch.write("a.csv", "id,text\n1,one\n2,t\"wo\n3\n4,four\n5,\"fi\" ve\n6,six\n")});
  config.bad_records = BadRecordPolicy::Skip;
  const RecordsRead read = read_records(config);
  EXPECT_THAT(read.texts, ElementsAre("one", "four", "six"));
  EXPECT_EQ(read.skipped.reasons.at("not written as its format asks"), 2);
  EXPECT_EQ(read.skipped.reasons.at("too few columns"), 1);
}

// The dataset equals that of the same documents in JSON lines, however many threads make it.
TEST(Csv, MakesTheDatasetOfTheSameJsonLines) {
  const Scratch scratch;
  std::string csv_text = "n,text\n", json_text;
  for (int i = 0; i < 400; ++i) {
    csv_text += fmt::format("{0},\"document {0}\nsays \"\"no, no\"\"\"\n", i);
    json_text += fmt::format(R"({{"text": "document {}\nsays \"no, no\""}})", i) + "\n";
  }
  DataConfig lines = csv(scratch, {scratch.write("a.jsonl", json_text)});
  lines.format = TextFormat::Jsonl;
  const auto content = [](const DataConfig& config, int threads) {
    prepare({config, words_tokenizer()}, {.threads = threads, .force = true});
    return Dataset::open(config.directory, DataSplit::Train).parts().at(0).content;
  };
  const uint64_t expected = content(lines, 1);
  const DataConfig records = csv(scratch, {scratch.write("a.csv", csv_text)});
  for (const int threads : {1, 3}) EXPECT_EQ(content(records, threads), expected) << threads;
}

}  // namespace
}  // namespace weft
