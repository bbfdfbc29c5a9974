// SPDX-License-Identifier: Apache-2.0
// Text that is cut into blocks has the records of the whole, wherever the cuts fall.
#include "data/prepare/records/text_blocks.h"

#include <gmock/gmock.h>

#include <random>

#include "data/prepare/records/record_reader.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

struct Found {
  std::vector<std::string> sources, targets;
  std::vector<int64_t> lines;
  bool operator==(const Found&) const = default;
};

Found read_all(const DataConfig& config, int threads) {
  BadRecords bad(false);
  const auto reader = open_records(config, resolve_files(config.train, config.format), bad, threads);
  Found found;
  for (TextRecord record; reader->next(record);) {
    found.sources.push_back(record.source), found.targets.push_back(record.target);
    found.lines.push_back(record.line);
  }
  EXPECT_EQ(reader->consumed(), total_bytes(resolve_files(config.train, config.format)));
  return found;
}

class WholeLines : public RecordRule {
 public:
  bool read(TextLines&, TextLines&, TextRecord&) const override { return false; }
};

class BlocksOfText : public testing::Test {
 protected:
  // A record of a random length; one record is longer than a block.
  std::string record(const char* alphabet, size_t letters) {
    const size_t size = made_++ == 500 ? size_t{3} << 20 : 1 + random_() % 9000;
    std::string text(size, ' ');
    for (char& c : text) c = alphabet[random_() % letters];
    text.back() = 'x';
    return text;
  }
  void expect(const DataConfig& config, const Found& expected) {
    for (const int threads : {1, 3}) EXPECT_TRUE(read_all(config, threads) == expected) << threads;
  }
  static constexpr int kRecords = 1000;  // about five blocks

  Scratch scratch_;
  std::mt19937 random_{11};
  int made_ = 0;
};

TEST_F(BlocksOfText, LinesAndColumns) {
  Found expected;
  std::string text, source, target;
  for (int i = 0; i < kRecords; ++i) {
    expected.sources.push_back(record("ab ", 3)), expected.targets.push_back(record("cd", 2));
    expected.lines.push_back(i + 1);
    text += expected.sources.back() + "\t" + expected.targets.back() + (i % 3 ? "\n" : "\r\n");
    source += expected.sources.back() + "\n", target += expected.targets.back() + "\r\n";
  }
  target.resize(target.size() - 2);  // the last line needs no line feed
  expect({.format = TextFormat::Tsv, .train = {.files = {scratch_.write("a.tsv", text)}}}, expected);
  DataConfig parallel{.format = TextFormat::Parallel};
  parallel.train.source = {scratch_.write("a.src", source)}, parallel.train.target = {scratch_.write("a.tgt", target)};
  expect(parallel, expected);
  scratch_.write("a.tgt", target + "\nmore\n");
  EXPECT_THAT(error_of([&] { read_all(parallel, 3); }), HasSubstr("has 1000 lines, but"));
  scratch_.write("a.src", source + "one\ntwo\nthree");
  const std::string error = error_of([&] { read_all(parallel, 3); });
  EXPECT_THAT(error, HasSubstr("a.src has 1003 lines, but"));
  EXPECT_THAT(error, HasSubstr("a.tgt has 1001: parallel files"));
}

// All of the source fits into one block, and its target does not.
TEST_F(BlocksOfText, LongTargetsOfShortSourcesAreTakenInParts) {
  Found expected;
  std::string source, target;
  for (int i = 0; i < 40; ++i) {
    expected.sources.push_back(std::to_string(i)), expected.lines.push_back(i + 1);
    expected.targets.emplace_back(700'000, static_cast<char>('a' + i % 26));
    source += expected.sources.back() + "\n", target += expected.targets.back() + "\n";
  }
  DataConfig parallel{.format = TextFormat::Parallel};
  parallel.train.source = {scratch_.write("a.src", source)}, parallel.train.target = {scratch_.write("a.tgt", target)};
  expect(parallel, expected);
  const WholeLines rule;
  TextBlocks blocks(parallel, resolve_files(parallel.train, parallel.format), rule);
  for (TextBlock block; blocks.next(block);) EXPECT_LT(block.target.size(), size_t{10} << 20);
  scratch_.write("a.src", source + "one\ntwo");
  EXPECT_THAT(error_of([&] { read_all(parallel, 3); }), HasSubstr("a.src has 42 lines, but"));
  scratch_.write("a.src", source);
  scratch_.write("a.tgt", target + "\n\nlast");
  EXPECT_THAT(error_of([&] { read_all(parallel, 3); }), HasSubstr("a.tgt has 43: parallel files"));
}

TEST_F(BlocksOfText, Paragraphs) {
  Found expected;
  std::string text;
  int64_t line = 1;
  for (int i = 0; i < kRecords; ++i) {
    std::string paragraph = record("ab\n", 3);
    while (paragraph.starts_with('\n')) paragraph.erase(0, 1);
    const auto both_end_lines = [](char a, char b) { return a == '\n' && b == '\n'; };
    paragraph.erase(std::unique(paragraph.begin(), paragraph.end(), both_end_lines), paragraph.end());
    expected.sources.push_back(paragraph), expected.targets.push_back("");
    expected.lines.push_back(line);
    text += paragraph + (i % 2 ? "\n\n" : "\n \t\r\n\n");
    line += std::count(paragraph.begin(), paragraph.end(), '\n') + (i % 2 ? 2 : 3);
  }
  expect({.train = {.files = {scratch_.write("a.txt", text)}}}, expected);
}

TEST_F(BlocksOfText, Separators) {
  Found expected;
  std::string text;
  int64_t line = 1;
  for (int i = 0; i < kRecords; ++i) {
    expected.sources.push_back(record("ab\n", 3)), expected.targets.push_back("");
    expected.lines.push_back(line);
    text += expected.sources.back() + "--\n--";  // a third "--" may follow these two
    line += std::count(expected.sources.back().begin(), expected.sources.back().end(), '\n') + 1;
    if (i % 7 == 0) text += "--\n--", ++line;  // an empty document is skipped
  }
  expect({.train = {.files = {scratch_.write("a.txt", text)}},
          .document_delimiter = DocumentDelimiter::Separator,
          .separator = "--\n--"},
         expected);
}

TEST_F(BlocksOfText, ABadRecordFarInNamesItsLine) {
  std::string text;
  for (int i = 0; i < kRecords; ++i) text += "{\"text\": \"" + record("ab ", 3) + "\"}\n";
  text += "{\"text\": 1}\n";
  const DataConfig config{.format = TextFormat::Jsonl, .train = {.files = {scratch_.write("a.jsonl", text)}}};
  for (const int threads : {1, 3}) {
    EXPECT_THAT(error_of([&] { read_all(config, threads); }), HasSubstr("a.jsonl:1001: field \"text\" is no string"));
  }
}

}  // namespace
}  // namespace weft
