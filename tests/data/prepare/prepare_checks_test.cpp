// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare_checks.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

const TokenizerConfig kNoEos = {.kind = TokenizerKind::Words, .min_frequency = 1};

std::string refusal(const DataConfig& data, const TokenizerConfig& tokenizer) {
  const std::string before = error_of([&] { check_preparation({data, tokenizer}); });
  const std::string prepared = error_of([&] { prepare({data, tokenizer}); });
  EXPECT_EQ(before, prepared);  // the check reports the error that prepare() would throw
  EXPECT_EQ(prepared == "no error", fs::exists(data.directory));
  return prepared;
}

TEST(PrepareChecks, DocumentsDoNotRunTogether) {
  const Scratch scratch;
  const auto run_together =
      AllOf(HasSubstr("tokenizer.eos: the text holds several documents"), HasSubstr("document_delimiter: file"));
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one\ntwo\n")});
  EXPECT_THAT(refusal(data, kNoEos), run_together);
  EXPECT_THAT(refusal(data, {.kind = TokenizerKind::Bytes}), run_together);
  EXPECT_THAT(refusal(data, {.kind = TokenizerKind::Bpe, .vocabulary = 300}), run_together);
  data.document_delimiter = DocumentDelimiter::BlankLine;
  data.train.files = {scratch.write("b.txt", "one\n"), scratch.write("c.txt", "two\n")};
  EXPECT_THAT(refusal(data, kNoEos), run_together);
  data.format = TextFormat::Jsonl;
  data.train.files = {scratch.write("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n")};
  EXPECT_THAT(refusal(data, kNoEos), run_together);
  data.format = TextFormat::Text;
  data.train.files = {scratch.write("b.txt", "one\n")};
  data.valid.files = {scratch.write("c.txt", "one\n\ntwo\n")};
  EXPECT_THAT(refusal(data, kNoEos), run_together);
}

TEST(PrepareChecks, WholeFilesAndSingleDocumentsNeedNoEnd) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one\ntwo\n"), scratch.write("b.txt", "three\n")});
  data.document_delimiter = DocumentDelimiter::File;
  EXPECT_EQ(refusal(data, {.kind = TokenizerKind::Chars}), "no error");
  const Dataset files = Dataset::open(data.directory, DataSplit::Train);
  EXPECT_EQ(files.load_source_tokenizer()->decode(all_tokens(files)), "one\ntwo\nthree\n");
  DataConfig one = text_config(scratch, {scratch.write("c.txt", "one\n")});
  one.directory = (scratch / "one").string();
  EXPECT_EQ(refusal(one, kNoEos), "no error");
}

TEST(PrepareChecks, SpecialsOfATranslationAreLookedForBeforeItsTextIsRead) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "no columns, which would be said otherwise\n")});
  EXPECT_THAT(refusal(data, kNoEos), HasSubstr("the source sequences of a translation need `eos`"));
  EXPECT_THAT(refusal(data, {.kind = TokenizerKind::Bpe, .vocabulary = 300, .specials = {"</s>"}, .eos = "</s>"}),
              HasSubstr("the target sequences of a translation need `bos`"));
}

TEST(PrepareChecks, FilesAreThereAndTokenizersLoad) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {(scratch / "no.txt").string()});
  EXPECT_THAT(refusal(data, bytes_tokenizer()), HasSubstr("no.txt: no such file"));
  data.train.files = {scratch.write("a.txt", "one\n")};
  data.valid.files = {(scratch / "*.tsv").string()};
  EXPECT_THAT(refusal(data, bytes_tokenizer()), HasSubstr("*.tsv: no file matches"));
  data.valid.files = {};
  const std::string none = (scratch / "none").string();
  EXPECT_THAT(refusal(data, {.kind = TokenizerKind::Tiktoken, .pattern = "gpt4", .ranks_file = none}),
              HasSubstr("none: cannot be read: No such file"));
  EXPECT_THAT(refusal(data, {.kind = TokenizerKind::Gpt2, .vocab_file = none, .merges_file = none}),
              HasSubstr("none: cannot be read"));
  data.tokenizer_file = scratch.write("tokenizer.json", "{}");
  EXPECT_THAT(refusal(data, {}), HasSubstr("tokenizer.json: "));
}

// These errors are reported before the training text is read, which may take hours.
TEST(PrepareChecks, TheFirstRecordsOfEverySplitMatchTheFormat) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.jsonl", "{\"text\": \"one\"}\n")});
  data.format = TextFormat::Jsonl;
  data.valid.files = {scratch.write("b.jsonl", "\n{\"content\": \"two\"}\n")};
  EXPECT_THAT(refusal(data, bytes_tokenizer()), AllOf(HasSubstr("b.jsonl:2: "), HasSubstr("\"text\"")));
  data.bad_records = BadRecordPolicy::Skip;
  EXPECT_EQ(error_of([&] { check_preparation({data, bytes_tokenizer()}); }), "no error");
  DataConfig pairs = tsv_config(scratch, {scratch.write("a.tsv", "one\tun\n")});
  pairs.test.files = {scratch.write("b.tsv", "two\n")};
  EXPECT_THAT(refusal(pairs, bytes_tokenizer()), HasSubstr("b.tsv:1: "));
}

TEST(PrepareChecks, FilesThatMayNotBeReadAreNamed) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "one\n")});
  fs::permissions(scratch / "a.txt", fs::perms::none);
  const std::string error = error_of([&] { check_preparation({data, bytes_tokenizer()}); });
  if (::access((scratch / "a.txt").c_str(), R_OK) == 0) {
    EXPECT_EQ(error, "no error");  // root may read anything
  } else {
    EXPECT_THAT(error, HasSubstr("a.txt: cannot be read: Permission denied"));
  }
}

}  // namespace
}  // namespace weft
