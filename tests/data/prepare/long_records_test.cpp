// SPDX-License-Identifier: Apache-2.0
// A record that is too long is an error before the rest of it is read.
#include <gmock/gmock.h>

#include "data/prepare/records/record_reader.h"
#include "data/text/text_input.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr int64_t kMost = 300'000;

class LongRecords : public testing::Test {
 protected:
  // A compressed file whose text has four megabytes and no end: who reads to the end finds that.
  std::string endless(const std::string& beginning) {
    std::string path = write_gz(scratch_, "a.gz", beginning + std::string(4 << 20, 'a'));
    fs::resize_file(path, fs::file_size(path) - 8);
    return path;
  }
  static size_t records(const DataConfig& config) {
    BadRecords bad(true);
    const auto reader = open_records(config, resolve_files(config.train, config.format), bad, 2);
    size_t count = 0;
    for (TextRecord record; reader->next(record);) ++count;
    return count;
  }
  static std::string error(const DataConfig& config) {
    return error_of([&] { records(config); });
  }
  DataConfig config(TextFormat format, std::string file) const {
    return {.directory = "out",
            .format = format,
            .train = {.files = {std::move(file)}},
            .document_delimiter = DocumentDelimiter::Line,
            .bad_records = BadRecordPolicy::Skip,
            .max_record_bytes = kMost};
  }

  const Scratch scratch_;
};

TEST_F(LongRecords, AreNamedInEveryFormatBeforeTheyAreRead) {
  const std::string expected = ":3: a record of more than 300000 bytes [";
  for (const TextFormat format : {TextFormat::Text, TextFormat::Jsonl, TextFormat::Tsv, TextFormat::PromptAnswer}) {
    EXPECT_THAT(error(config(format, endless("a\nb\n"))), HasSubstr("a.gz" + expected)) << enum_name(format);
  }
  EXPECT_THAT(error(config(TextFormat::Csv, endless("text\none\n\"two"))), HasSubstr("a.gz" + expected));
  EXPECT_THAT(error(config(TextFormat::Csv, endless("text\none\n"))), HasSubstr("a.gz" + expected));
  EXPECT_THAT(error(config(TextFormat::Csv, endless("text\none\n" + std::string(kMost, ',')))),
              HasSubstr("a.gz" + expected));
}

TEST_F(LongRecords, AreNamedWithEveryDelimiterBeforeTheyAreRead) {
  DataConfig data = config(TextFormat::Text, endless("a\n\n"));
  data.document_delimiter = DocumentDelimiter::BlankLine;
  EXPECT_THAT(error(data), HasSubstr("a.gz:3: a record of more than 300000 bytes"));
  data.document_delimiter = DocumentDelimiter::File;
  EXPECT_THAT(error(data), HasSubstr("a.gz:1: a record of more than 300000 bytes"));
  data.document_delimiter = DocumentDelimiter::Separator, data.separator = "\n";
  EXPECT_THAT(error(data), HasSubstr("a.gz:3: a record of more than 300000 bytes"));
}

TEST_F(LongRecords, AreNamedOnEitherSide) {
  DataConfig data = config(TextFormat::Parallel, "");
  const std::string lines = scratch_.write("b.txt", "a\nb\nc\n");
  data.train = {.source = {lines}, .target = {endless("a\nb\n")}};
  EXPECT_THAT(error(data), HasSubstr("a.gz:3: a record of more than 300000 bytes"));
  std::swap(data.train.source, data.train.target);
  EXPECT_THAT(error(data), HasSubstr("a.gz:3: a record of more than 300000 bytes"));
}

TEST_F(LongRecords, AreThoseBeyondTheLimit) {
  const std::string most(kMost, 'a');
  EXPECT_EQ(records(config(TextFormat::Text, scratch_.write("b.txt", most + "\n" + most + "\nc\n" + most))), 4u);
  EXPECT_THAT(error(config(TextFormat::Text, scratch_.write("b.txt", "c\n" + most + "a\n"))),
              HasSubstr("b.txt:2: a record of more than 300000 bytes"));
  DataConfig small = config(TextFormat::Text, scratch_.write("c.txt", "abc\nabcd\nabc\n"));
  small.max_record_bytes = 3;
  EXPECT_THAT(error(small), HasSubstr("c.txt:2: a record of more than 3 bytes"));
  small.max_record_bytes = 4;
  EXPECT_EQ(records(small), 3u);
}

TEST_F(LongRecords, AreLinesToo) {
  TextInput input{TextFile(endless("a\n")), kMost};
  std::string_view line;
  EXPECT_TRUE(input.next_line(line));
  EXPECT_THAT(error_of([&] { input.next_line(line); }), HasSubstr("a.gz:2: a record of more than 300000 bytes"));
}

}  // namespace
}  // namespace weft
