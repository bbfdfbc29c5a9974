// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/records/record_reader.h"

#include <gmock/gmock.h>

#include "data/text/text_input.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Read {
  std::vector<std::string> sources, targets;
  std::vector<int64_t> lines;
};

Read read_all(const DataConfig& config) {
  BadRecords bad(config.bad_records == BadRecordPolicy::Skip);
  const auto reader = open_records(config, resolve_files(config.train, config.format), bad, 1);
  Read read;
  TextRecord record;
  while (reader->next(record)) {
    read.sources.push_back(record.source);
    read.targets.push_back(record.target);
    read.lines.push_back(record.line);
  }
  EXPECT_EQ(reader->consumed(), total_bytes(resolve_files(config.train, config.format)));
  return read;
}

DataConfig text(std::vector<std::string> files, DocumentDelimiter rule, std::string separator = {}) {
  return {.directory = "out",
          .train = {.files = std::move(files)},
          .document_delimiter = rule,
          .separator = std::move(separator)};
}

DataConfig tsv(std::vector<std::string> files, int64_t source, int64_t target) {
  return {.directory = "out",
          .format = TextFormat::Tsv,
          .train = {.files = std::move(files)},
          .source_column = source,
          .target_column = target};
}

DataConfig parallel(std::vector<std::string> source, std::vector<std::string> target) {
  return {.directory = "out",
          .format = TextFormat::Parallel,
          .train = {.source = std::move(source), .target = std::move(target)}};
}

DataConfig jsonl(std::string file, std::string field = "text") {
  return {.directory = "out",
          .format = TextFormat::Jsonl,
          .train = {.files = {std::move(file)}},
          .json_field = std::move(field)};
}

TEST(RecordReader, BlankLinesSeparateDocuments) {
  const Scratch scratch;
  const std::string file = scratch.write("a.txt", "\n\none\ntwo\n \t\n\nthree\r\nfour\r\n\r\nfive");
  const Read read = read_all(text({file}, DocumentDelimiter::BlankLine));
  EXPECT_THAT(read.sources, ElementsAre("one\ntwo", "three\r\nfour", "five"));
  EXPECT_THAT(read.lines, ElementsAre(3, 7, 10));
}

TEST(RecordReader, LinesAreDocumentsWithoutLineEnds) {
  const Scratch scratch;
  const Read read = read_all(text({scratch.write("a.txt", "one\r\n\ntwo \n\r\nthree")}, DocumentDelimiter::Line));
  EXPECT_THAT(read.sources, ElementsAre("one", "two ", "three"));
  EXPECT_THAT(read.lines, ElementsAre(1, 3, 5));
}

TEST(RecordReader, WholeFilesAreKeptByteForByte) {
  const Scratch scratch;
  const std::string bytes = "\n a\r\n\xff\xfe b \n\n";
  const Read read =
      read_all(text({scratch.write("a.txt", bytes), scratch.write("none.txt", ""), scratch.write("b.txt", "b")},
                    DocumentDelimiter::File));
  EXPECT_THAT(read.sources, ElementsAre(bytes, "b"));
}

TEST(RecordReader, SeparatorMayCrossLines) {
  const Scratch scratch;
  const std::string file = scratch.write("a.txt", "--\n--one\ntwo--\n----\n--three\n--");
  const Read read = read_all(text({file}, DocumentDelimiter::Separator, "--\n--"));
  EXPECT_THAT(read.sources, ElementsAre("one\ntwo", "three\n--"));
  EXPECT_THAT(read.lines, ElementsAre(2, 5));
}

TEST(RecordReader, LinesLongerThanTheBufferAreWhole) {
  const Scratch scratch;
  const std::string longest(1'000'000, 'x');
  const Read read = read_all(text({scratch.write("a.txt", longest + "\nshort\n" + longest)}, DocumentDelimiter::Line));
  EXPECT_THAT(read.sources, ElementsAre(longest, "short", longest));
}

TEST(RecordReader, ByteOrderMarkIsLeftOut) {
  const Scratch scratch;
  EXPECT_THAT(read_all(text({scratch.write("a.txt", "\xEF\xBB\xBFone")}, DocumentDelimiter::File)).sources,
              ElementsAre("one"));
}

TEST(RecordReader, GlobsAreSortedAndGzipIsRead) {
  const Scratch scratch;
  write_gz(scratch, "part-10.gz", "ten\n");
  scratch.write("part-02", "two\n");
  scratch.write("part-01", "one\n");
  const Read read = read_all(text({(scratch / "part-*").string()}, DocumentDelimiter::Line));
  EXPECT_THAT(read.sources, ElementsAre("one", "two", "ten"));
}

TEST(RecordReader, NulIsRefusedWithItsLine) {
  const Scratch scratch;
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += "line\n";
  bytes += std::string("a\0b", 3);
  const std::string file = scratch.write("a.txt", bytes);
  for (const DocumentDelimiter rule :
       {DocumentDelimiter::File, DocumentDelimiter::Line, DocumentDelimiter::BlankLine}) {
    const std::string error = error_of([&] { read_all(text({file}, rule)); });
    EXPECT_THAT(error, HasSubstr("a.txt:100001: a NUL byte"));
    EXPECT_THAT(error, HasSubstr("UTF-16"));
  }
}

TEST(RecordReader, MissingFilesAreNamed) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] { read_all(text({(scratch / "no.txt").string()}, DocumentDelimiter::Line)); }),
              HasSubstr("no.txt: no such file"));
  EXPECT_THAT(error_of([&] { read_all(text({(scratch / "*.txt").string()}, DocumentDelimiter::Line)); }),
              HasSubstr("*.txt: no file matches"));
  EXPECT_THAT(error_of([&] { TextInput input{TextFile(scratch.path())}; }), HasSubstr("is a directory"));
}

TEST(RecordReader, TsvTakesChosenColumnsAndIgnoresMore) {
  const Scratch scratch;
  const std::string file = scratch.write("a.tsv", "go\tva !\tCC-BY\r\nrun\tcours\n\t\n");
  const Read forward = read_all(tsv({file}, 1, 2));
  EXPECT_THAT(forward.sources, ElementsAre("go", "run", ""));
  EXPECT_THAT(forward.targets, ElementsAre("va !", "cours", ""));
  const Read back = read_all(tsv({file}, 2, 1));
  EXPECT_THAT(back.sources, ElementsAre("va !", "cours", ""));
}

TEST(RecordReader, AnEmptyLineOfTsvIsAPairWithoutText) {
  const Scratch scratch;
  const Read read = read_all(tsv({scratch.write("a.tsv", "go\tva !\n\nrun\tcours\n\r\n")}, 1, 2));
  EXPECT_THAT(read.sources, ElementsAre("go", "", "run", ""));
  EXPECT_THAT(read.targets, ElementsAre("va !", "", "cours", ""));
}

TEST(RecordReader, TsvWithTooFewColumnsNamesTheLine) {
  const Scratch scratch;
  const std::string file = scratch.write("a.tsv", "go\tva !\nrun\nno\tnon\n");
  EXPECT_THAT(error_of([&] { read_all(tsv({file}, 1, 2)); }),
              AllOf(HasSubstr("a.tsv:2: 1 tab-separated column, but column 2 is asked for"),
                    HasSubstr("data.source_column"), HasSubstr("data.bad_records: skip")));
  EXPECT_THAT(error_of([&] { read_all(tsv({file}, 1, 3)); }), HasSubstr("a.tsv:1: 2 tab-separated columns"));
}

TEST(RecordReader, ParallelFilesArePairedLineByLine) {
  const Scratch scratch;
  const Read read = read_all(parallel({scratch.write("a.en", "one\n\nthree\n"), write_gz(scratch, "b.en", "four")},
                                      {scratch.write("a.de", "eins\nzwei\ndrei"), scratch.write("b.de", "vier\r\n")}));
  EXPECT_THAT(read.sources, ElementsAre("one", "", "three", "four"));
  EXPECT_THAT(read.targets, ElementsAre("eins", "zwei", "drei", "vier"));
  EXPECT_THAT(read.lines, ElementsAre(1, 2, 3, 1));
}

TEST(RecordReader, UnequalLineCountsNameBoth) {
  const Scratch scratch;
  const std::string three = scratch.write("a.en", "1\n2\n3\n"), five = scratch.write("a.de", "1\n2\n3\n4\n5\n");
  EXPECT_THAT(error_of([&] { read_all(parallel({three}, {five})); }),
              testing::MatchesRegex(".*a.en has 3 lines, but .*a.de has 5: .*"));
  EXPECT_THAT(error_of([&] { read_all(parallel({five}, {three})); }),
              testing::MatchesRegex(".*a.de has 5 lines, but .*a.en has 3: .*"));
}

TEST(RecordReader, UnequalNumbersOfFilesAreAConfigError) {
  const Scratch scratch;
  const std::string file = scratch.write("a", "1\n");
  EXPECT_THROW(resolve_files({.source = {file, file}, .target = {file}}, TextFormat::Parallel), ConfigError);
}

TEST(RecordReader, JsonLinesGiveTheChosenField) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "a.jsonl", "{\"text\": \"one\\ntwo\", \"id\": 1}\n\n{\"text\": \"\"}\n{\"text\": \"gr\\u00fcn\"}\n");
  const Read read = read_all(jsonl(file));
  EXPECT_THAT(read.sources, ElementsAre("one\ntwo", "grün"));
  EXPECT_THAT(read.lines, ElementsAre(1, 4));
}

TEST(RecordReader, BadJsonLinesNameTheLine) {
  const Scratch scratch;
  const auto error = [&](const std::string& line) {
    const std::string file = scratch.write("a.jsonl", "{\"text\": \"fine\"}\n" + line + "\n");
    return error_of([&] { read_all(jsonl(file)); });
  };
  EXPECT_THAT(error("{\"text\": "), HasSubstr("a.jsonl:2: not a line of JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("a.jsonl:2: the line is JSON, but no object"));
  EXPECT_THAT(error("{\"body\": \"x\"}"),
              AllOf(HasSubstr("a.jsonl:2: the object has no field \"text\""),
                    HasSubstr("it has \"body\"; data.json_field says which one is read; data.bad_records: skip")));
  EXPECT_THAT(error("{\"text\": 3}"), HasSubstr("a.jsonl:2: field \"text\" is no string"));
  EXPECT_THAT(error("{\"text\": \"a\\u0000\"}"), HasSubstr("a.jsonl:2: a NUL byte"));
  EXPECT_THAT(error("{\"text\": \"a\\n\\n\\u0000\"}"), HasSubstr("a.jsonl:2: a NUL byte"));
}

TEST(RecordReader, HeadersAreLeftOutOfEachFile) {
  const Scratch scratch;
  const auto skipping = [](DataConfig config, int64_t lines) {
    config.skip_lines = lines;
    return config;
  };
  const std::string first = scratch.write("a.tsv", "en\tfr\ngo\tva\n"),
                    second = scratch.write("b.tsv", "en\tfr\nrun\tcours");
  const Read pairs = read_all(skipping(tsv({first, second}, 1, 2), 1));
  EXPECT_THAT(pairs.sources, ElementsAre("go", "run"));
  EXPECT_THAT(pairs.lines, ElementsAre(2, 2));
  const std::string text_file = scratch.write("a.txt", "x\ny\nz\n\nend");
  for (const DocumentDelimiter rule : {DocumentDelimiter::File, DocumentDelimiter::BlankLine}) {
    EXPECT_THAT(read_all(skipping(text({text_file}, rule), 2)).lines[0], 3);
  }
  EXPECT_THAT(read_all(skipping(text({text_file}, DocumentDelimiter::Separator, "\n\n"), 2)).sources,
              ElementsAre("z", "end"));
  EXPECT_THAT(read_all(skipping(parallel({first}, {second}), 1)).targets, ElementsAre("run\tcours"));
  EXPECT_THAT(read_all(skipping(tsv({first}, 1, 2), 7)).sources, ElementsAre());
}

TEST(DataConfigCheck, ContradictionsAreNamed) {
  const auto error = [](auto&& change) {
    DataConfig config = text({"a"}, DocumentDelimiter::Line);
    change(config);
    return error_of([&] { config.check(); });
  };
  EXPECT_EQ(error([](DataConfig&) {}), "no error");
  EXPECT_THAT(error([](DataConfig& c) { c.directory.clear(); }), HasSubstr("`directory` is not set"));
  EXPECT_THAT(error([](DataConfig& c) { c.train = {}; }), HasSubstr("`train` names no files"));
  EXPECT_THAT(error([](DataConfig& c) { c.train.source = {"b"}; }), HasSubstr("reads `train.files`"));
  EXPECT_THAT(error([](DataConfig& c) { c.format = TextFormat::Parallel; }), HasSubstr("`train.source` and"));
  EXPECT_THAT(error([](DataConfig& c) { c.valid_fraction = 0.1; }), HasSubstr("need a split rule"));
  EXPECT_THAT(error([](DataConfig& c) { c.split = SplitRule::Hash, c.valid.files = {"b"}; }),
              HasSubstr("must name no files"));
  EXPECT_THAT(error([](DataConfig& c) { c.split = SplitRule::Hash, c.valid_fraction = 0.5, c.test_fraction = 0.5; }),
              HasSubstr("leave nothing to train on"));
  EXPECT_THAT(error([](DataConfig& c) { c.split = SplitRule::Characters, c.format = TextFormat::Tsv; }),
              HasSubstr("would cut records"));
  EXPECT_THAT(error([](DataConfig& c) { c.document_delimiter = DocumentDelimiter::Separator; }),
              HasSubstr("`separator` is not set"));
  EXPECT_THAT(error([](DataConfig& c) { c.separator = "x"; }), HasSubstr("`separator` is set"));
  EXPECT_THAT(error([](DataConfig& c) { c.format = TextFormat::Tsv, c.source_column = 0; }),
              HasSubstr("counted from 1"));
  EXPECT_THAT(error([](DataConfig& c) { c.max_target_tokens = 2; }), HasSubstr("no room for 2 specials"));
  EXPECT_THAT(error([](DataConfig& c) { c.max_unknown_fraction = 1.5; }), HasSubstr("not in [0, 1]"));
  EXPECT_THAT(error([](DataConfig& c) { c.max_bad_fraction = 2; }), HasSubstr("max_bad_fraction 2 is not in [0, 1]"));
  EXPECT_THAT(error([](DataConfig& c) { c.skip_lines = -1; }), HasSubstr("skip_lines -1"));
  EXPECT_THAT(error([](DataConfig& c) { c.split = SplitRule::Characters, c.duplicates = DuplicatePolicy::Drop; }),
              HasSubstr("compares them whole"));
  EXPECT_THAT(error([](DataConfig& c) { c.shard_tokens = 0; }), HasSubstr("less than 1"));
  EXPECT_THAT(error([](DataConfig& c) { c.target_tokenizer_file = "t"; }), HasSubstr("needs `tokenizer_file`"));
}

}  // namespace
}  // namespace weft
