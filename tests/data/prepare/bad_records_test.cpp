// SPDX-License-Identifier: Apache-2.0
#include "data/text/bad_records.h"

#include <gmock/gmock.h>

#include "data/dataset/inspect.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

DataConfig lenient(DataConfig config, double most) {
  config.bad_records = BadRecordPolicy::Skip;
  config.max_bad_fraction = most;
  return config;
}

DataConfig jsonl_config(const Scratch& scratch, const std::string& lines) {
  DataConfig config = text_config(scratch, {scratch.write("a.jsonl", lines)});
  config.format = TextFormat::Jsonl;
  config.document_delimiter = DocumentDelimiter::BlankLine;
  return config;
}

// The documents of a stream, each with its end token.
std::string stream_text(const DataConfig& data) {
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  return dataset.load_source_tokenizer()->decode(all_tokens(dataset), {.show_specials = true});
}

constexpr const char* kOddLines =
    "{\"text\":\"one\"}\n{\"text\":\n{\"text\":null}\n[]\n{\"text\":\"a\\u0000\"}\n{\"body\":1}\n{\"text\":\"two\"}\n"
    "{\"text\":,}\n";

TEST(BadRecords, TheFirstEndsThePreparationByDefault) {
  const Scratch scratch;
  const DataConfig data = jsonl_config(scratch, kOddLines);
  EXPECT_THAT(error_of([&] { prepare({data, bytes_tokenizer()}); }), HasSubstr("a.jsonl:2: not a line of JSON"));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(BadRecords, SkippedRecordsAreCountedByReasonWithTheFirstPlaces) {
  const Scratch scratch;
  const DataConfig data = lenient(jsonl_config(scratch, kOddLines), 0.75);
  const PrepareReport report = prepare({data, bytes_tokenizer()});
  EXPECT_EQ(stream_text(data), "one</s>two</s>");
  const SkippedRecords skipped = read_manifest(data.directory).skipped;
  EXPECT_EQ(skipped.count(), 6);
  EXPECT_THAT(skipped.reasons,
              ElementsAre(Pair("a NUL byte", 1), Pair("a field that is no string", 1), Pair("no JSON object", 1),
                          Pair("not a line of JSON", 2), Pair("without the field", 1)));
  ASSERT_EQ(skipped.first.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_THAT(skipped.first[i], HasSubstr(fmt::format("a.jsonl:{}: ", i + 2)));
  EXPECT_THAT(describe(report), AllOf(HasSubstr("bad records left out: 6"), HasSubstr("2 x not a line of JSON"),
                                      HasSubstr("a.jsonl:3: field")));
  EXPECT_THAT(describe_dataset(data.directory), HasSubstr("bad records left out: 6"));
}

TEST(BadRecords, TooManyAreAnErrorThatShowsTheFirst) {
  const Scratch scratch;
  const DataConfig data = lenient(jsonl_config(scratch, kOddLines), 0.74);
  EXPECT_THAT(error_of([&] {
                prepare({data, bytes_tokenizer()});
              }),
              AllOf(HasSubstr("6 of 8 records cannot be taken (75.00 %), more than the 74.00 %"),
                    HasSubstr("a.jsonl:2: not a line of JSON"), HasSubstr("max_bad_fraction")));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(BadRecords, EveryFormatSkipsBadRecords) {
  const Scratch scratch;
  const std::string nul("b\0c", 3);
  DataConfig tsv = lenient(tsv_config(scratch, {scratch.write("a.tsv", "a\tb\nshort\n\nc\t" + nul + "\nd\te\n")}), 0.5);
  const SplitEntry pairs = prepare({tsv, bytes_tokenizer()}).manifest.splits.at(DataSplit::Train);
  EXPECT_EQ(pairs.records, 2);
  EXPECT_EQ(pairs.dropped_empty, 1);
  EXPECT_EQ(read_manifest(tsv.directory).skipped.count(), 2);

  DataConfig sides = lenient(tsv, 0.5);
  sides.format = TextFormat::Parallel;
  sides.train = {.source = {scratch.write("a.en", "a\n" + nul + "\nc\n")},
                 .target = {scratch.write("a.fr", "d\ne\nf\n")}};
  EXPECT_EQ(prepare({sides, bytes_tokenizer()}, {.force = true}).manifest.splits.at(DataSplit::Train).records, 2);

  const std::string file = scratch.write("a.txt", "one\n\n" + nul + "\n\ntwo\n");
  for (const DocumentDelimiter rule : {DocumentDelimiter::Line, DocumentDelimiter::BlankLine}) {
    DataConfig text = lenient(text_config(scratch, {file}), 0.5);
    text.document_delimiter = rule;
    prepare({text, bytes_tokenizer()}, {.force = true});
    EXPECT_EQ(stream_text(text), "one</s>two</s>");
    EXPECT_THAT(read_manifest(text.directory).skipped.first, ElementsAre(HasSubstr("a.txt:3: a NUL byte")));
  }
}

// Tokenizers of words and chars take only valid UTF-8: they do not learn from other text either.
TEST(BadRecords, InvalidUtf8IsABadRecordForWordsAndChars) {
  const Scratch scratch;
  DataConfig data = lenient(text_config(scratch, {scratch.write("a.txt", "one\nt\xffwo\nthree\n")}), 0.4);
  data.valid.files = {scratch.write("b.txt", "three\n\xe4\none\n")};
  for (const int threads : {1, 3}) {
    prepare({data, words_tokenizer()}, {.threads = threads, .force = true});
    EXPECT_EQ(Dataset::open(data.directory, DataSplit::Train).header().source.vocabulary, 5);
    EXPECT_THAT(read_manifest(data.directory).skipped.reasons, ElementsAre(Pair("not valid UTF-8", 2)));
  }
  data.max_bad_fraction = 0.3;
  data.directory = (scratch / "stricter").string();
  EXPECT_THAT(error_of([&] { prepare({data, words_tokenizer()}); }), HasSubstr("2 of 6 records"));
}

TEST(BadRecords, InvalidUtf8ThatIsKeptIsReported) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "fine\ncaf\xe9\nna\xefve\n")});
  const PrepareReport report = prepare({data, bytes_tokenizer()});
  EXPECT_EQ(read_manifest(data.directory).splits.at(DataSplit::Train).invalid_utf8, 2);
  EXPECT_THAT(describe(report), HasSubstr("2 documents are not valid UTF-8"));
}

TEST(BadRecords, ExcerptsAreShortAndHarmless) {
  EXPECT_EQ(excerpt("a\x1b[31m\nb"), "a [31m b");
  EXPECT_LE(excerpt(std::string(1000, 'x')).size(), 43u);
  EXPECT_EQ(excerpt(std::string(39, 'x') + "ü and more"), std::string(39, 'x') + "...");
}

}  // namespace
}  // namespace weft
