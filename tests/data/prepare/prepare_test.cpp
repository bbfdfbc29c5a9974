// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/prepare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "data/dataset/inspect.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"
#include "tests/support/shared_data.h"

namespace weft {
namespace {

using namespace test;

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Prepare, DocumentsStandEndToEndEachWithEos) {
  const Scratch scratch;
  const DataConfig data = text_config(scratch, {scratch.write("a.txt", "ab\n\nc\n")});
  const PrepareReport report = prepare({data, bytes_tokenizer()});
  EXPECT_FALSE(report.already_prepared);
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  const auto tokenizer = dataset.load_source_tokenizer();
  const int32_t eos = *tokenizer->special(SpecialRole::Eos);
  Ids wanted = tokenizer->encode("ab");
  wanted.push_back(eos);
  wanted.push_back(tokenizer->encode("c").at(0));
  wanted.push_back(eos);
  EXPECT_EQ(all_tokens(dataset), wanted);
  EXPECT_EQ(dataset.header().num_documents, 2);
  EXPECT_EQ(dataset.header().source.eos, eos);
  EXPECT_EQ(dataset.header().source.vocabulary, 258);
  EXPECT_EQ(dataset.header().source.tokenizer_hash, tokenizer->hash());
  EXPECT_EQ(Dataset::splits(data.directory), std::vector{DataSplit::Train});
}

TEST(Prepare, DocumentsBeginWithBosIfTheJobAsksForIt) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "ab\n\nc\n")});
  data.source_bos = true;
  const PrepareReport report = prepare({data, bytes_tokenizer()});
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  const std::string text = dataset.load_source_tokenizer()->decode(all_tokens(dataset), {.show_specials = true});
  EXPECT_EQ(text, "<s>ab</s><s>c</s>");
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).source.text_tokens, 3);
  EXPECT_THAT(error_of([&] {
                prepare({data, {.kind = TokenizerKind::Bytes}}, {.force = true});
              }),
              HasSubstr("the documents and prompts (data.source_bos) need `bos`"));
}

// A document that the split cuts has its end token at its end, not at the cut.
TEST(Prepare, ACutThroughADocumentIsNotItsEnd) {
  const Scratch scratch;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "ab\ncdefgh\n")});
  data.split = SplitRule::Characters, data.valid_fraction = 0.5;
  prepare({data, bytes_tokenizer()});
  const auto text = [&](DataSplit split) {
    const Dataset dataset = Dataset::open(data.directory, split);
    return dataset.load_source_tokenizer()->decode(all_tokens(dataset), {.show_specials = true});
  };
  EXPECT_EQ(text(DataSplit::Train), "ab</s>cd");
  EXPECT_EQ(text(DataSplit::Valid), "efgh</s>");
}

TEST(Prepare, PairsOfBlanksOfAnyScriptHaveNoText) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "a\tb\n\u00A0 \tx\ny\t\u3000\n")});
  EXPECT_EQ(prepare({data, bytes_tokenizer()}).manifest.splits.at(DataSplit::Train).dropped_empty, 2);
}

TEST(Prepare, BytesThatAreNoUtf8AreKeptByByteLevelTokenizers) {
  const Scratch scratch;
  const std::string text = "a\xff\xc3(\x80";
  DataConfig data = text_config(scratch, {scratch.write("a.txt", text)});
  prepare({data, {.kind = TokenizerKind::Bytes}});
  const Dataset bytes = Dataset::open(data.directory, DataSplit::Train);
  EXPECT_EQ(bytes.load_source_tokenizer()->decode(all_tokens(bytes)), text);
}

TEST(Prepare, CharsAndWordsRefuseWhatIsNoUtf8) {
  const Scratch scratch;
  const DataConfig data = text_config(scratch, {scratch.write("a.txt", "fine\nba\xff-\n")});
  const TokenizerConfig chars = {.kind = TokenizerKind::Chars, .specials = {"</s>"}, .eos = "</s>"};
  for (const TokenizerConfig& config : {chars, words_tokenizer()}) {
    EXPECT_THAT(error_of([&] {
                  prepare({data, config});
                }),
                testing::AllOf(HasSubstr("a.txt:2: byte 0xff is not valid UTF-8"), HasSubstr("bpe or bytes")));
  }
  // The validation text is checked too, though the tokenizer does not learn from it.
  DataConfig split = text_config(scratch, {scratch.write("b.txt", "fine\n")});
  split.valid.files = {scratch.write("c.txt", "fine\nfine\xe4\n")};
  EXPECT_THAT(error_of([&] { prepare({split, words_tokenizer()}); }), HasSubstr("c.txt:2: byte 0xe4"));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(Prepare, PairsHaveTheSpecialsThatWereAskedFor) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "a\tb\tignored\n")});
  for (const bool bos : {false, true}) {
    for (const bool eos : {false, true}) {
      data.source_bos = bos, data.source_eos = eos;
      prepare({data, bytes_tokenizer()}, {.force = true});
      const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
      const int32_t s = *dataset.header().source.bos, e = *dataset.header().source.eos;
      const auto tokenizer = dataset.load_source_tokenizer();
      Ids source = tokenizer->encode("a");
      if (bos) source.insert(source.begin(), s);
      if (eos) source.push_back(e);
      EXPECT_THAT(all_pairs(dataset), ElementsAre(std::pair(source, Ids{s, tokenizer->encode("b").at(0), e})));
    }
  }
}

TEST(Prepare, PairsWithoutBosOrEosAreAConfigError) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "a\tb\n")});
  EXPECT_THAT(error_of([&] {
                prepare({data, {.kind = TokenizerKind::Bytes}});
              }),
              HasSubstr("the source sequences of a translation need `eos`"));
  EXPECT_THAT(error_of([&] {
                prepare({data, {.kind = TokenizerKind::Bytes, .specials = {"</s>"}, .eos = "</s>"}});
              }),
              HasSubstr("the target sequences of a translation need `bos`"));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(Prepare, LongPairsAreDroppedOrTruncatedAndCounted) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "ab\tcd\nabc\tde\nab\tcde\n \tx\nx\t\nabcd\tefgh\n")});
  data.max_source_tokens = 3;  // two bytes and the end token
  data.max_target_tokens = 4;  // the start token, two bytes, the end token
  PrepareReport report = prepare({data, bytes_tokenizer()});
  const SplitEntry dropped = report.manifest.splits.at(DataSplit::Train);
  EXPECT_EQ(dropped.records, 1);
  EXPECT_EQ(dropped.dropped_long, 3);
  EXPECT_EQ(dropped.dropped_empty, 2);
  EXPECT_EQ(dropped.truncated, 0);

  data.overlong_pairs = OverlongPairs::Truncate;
  report = prepare({data, bytes_tokenizer()}, {.force = true});
  const SplitEntry cut = report.manifest.splits.at(DataSplit::Train);
  EXPECT_EQ(cut.records, 4);
  EXPECT_EQ(cut.dropped_long, 0);
  EXPECT_EQ(cut.dropped_empty, 2);
  EXPECT_EQ(cut.truncated, 3);
  const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
  const auto tokenizer = dataset.load_source_tokenizer();
  EXPECT_EQ(dataset.header().source.longest, 3);
  EXPECT_EQ(dataset.header().target.longest, 4);
  for (const auto& [source, target] : all_pairs(dataset)) {
    EXPECT_EQ(source.back(), dataset.header().source.eos);
    EXPECT_EQ(target.front(), dataset.header().target.bos);
    EXPECT_EQ(target.back(), dataset.header().target.eos);
    EXPECT_EQ(tokenizer->decode(source), "ab");
  }
  EXPECT_THAT(describe(report), HasSubstr("dropped 2 without text and 0 too long, truncated 3"));
}

std::vector<std::string> references_of(const Dataset& dataset) {
  std::vector<std::string> references;
  for (int64_t i = 0; i < dataset.num_pairs(); ++i) references.push_back(dataset.read_reference(i));
  return references;
}

TEST(Prepare, HeldOutPairsAreNeitherDroppedNorCutAndKeepTheirText) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "ab\tcd\nabc\tde\n")});
  data.test.files = {scratch.write("t.tsv", "ab\tcd\nabc\td  \xff\u00e9f\n \tx\nx\t\n")};
  data.max_source_tokens = 3;
  data.max_target_tokens = 4;
  data.shard_tokens = 12;  // so that texts span several shards
  const PrepareReport report = prepare({data, bytes_tokenizer()});
  EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).records, 1);
  EXPECT_FALSE(report.manifest.splits.at(DataSplit::Train).references);
  const SplitEntry& kept = report.manifest.splits.at(DataSplit::Test);
  EXPECT_EQ(kept.records, 4);
  EXPECT_EQ(kept.dropped_empty + kept.dropped_long + kept.truncated, 0);
  EXPECT_EQ(kept.target.text_bytes, 2 + 7 + 1 + 0);
  EXPECT_GT(kept.shards.size(), 1u);
  const Dataset test = Dataset::open(data.directory, DataSplit::Test);
  EXPECT_EQ(test.header().version, kDatasetVersion);
  EXPECT_THAT(references_of(test), ElementsAre("cd", "d  \xff\u00e9f", "x", ""));
  EXPECT_EQ(test.target_length(1), 9) << "not cut either";
  EXPECT_EQ(test.target_length(3), 2) << "bos and eos";
  EXPECT_THAT(verify_dataset(data.directory), ElementsAre());
}

TEST(Prepare, HeldOutPairsAreDroppedOrCutIfTheJobAsksForIt) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "ab\tcd\n")});
  data.test.files = {scratch.write("t.tsv", "ab\tcd\nabc\tdef\n \tx\n")};
  data.max_source_tokens = 3;
  data.max_target_tokens = 4;
  data.heldout_empty_pairs = EmptyPairs::Drop;
  data.heldout_overlong_pairs = OverlongPairs::Truncate;
  const SplitEntry cut = prepare({data, bytes_tokenizer()}).manifest.splits.at(DataSplit::Test);
  EXPECT_EQ(cut.records, 2);
  EXPECT_EQ(cut.truncated, 1);
  EXPECT_EQ(cut.dropped_empty, 1);
  EXPECT_THAT(references_of(Dataset::open(data.directory, DataSplit::Test)), ElementsAre("cd", "def"))
      << "text is never cut";
  data.heldout_overlong_pairs = OverlongPairs::Drop;
  const SplitEntry dropped = prepare({data, bytes_tokenizer()}, {.force = true}).manifest.splits.at(DataSplit::Test);
  EXPECT_EQ(dropped.records, 1);
  EXPECT_EQ(dropped.dropped_long, 1);
}

// A wrong byte of a reference would change a score, and no check of ids can find it.
TEST(Prepare, ADamagedReferenceIsFoundOnOpening) {
  const Scratch scratch;
  DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "ab\tcd\n")});
  data.test.files = {scratch.write("t.tsv", "ab\tthe very words\n")};
  prepare({data, bytes_tokenizer()});
  const fs::path shard = fs::path(data.directory) / "test-00000.h5";
  std::string bytes = read_file(shard);
  const size_t at = bytes.find("the very words");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'T';
  write_file_atomically(shard, bytes);
  EXPECT_THAT(error_of([&] { Dataset::open(data.directory, DataSplit::Test); }), HasSubstr("is damaged"));
}

TEST(Prepare, SettingsAreComparedWithWhatTheDatasetWasMadeWith) {
  const Scratch scratch;
  const DataConfig data = tsv_config(scratch, {scratch.write("a.tsv", "ab\tcd\n")});
  prepare({data, bytes_tokenizer()});
  const auto otherwise = [&](auto change) {
    DataConfig other = data;
    TokenizerConfig tokenizer = bytes_tokenizer();
    change(other, tokenizer);
    return prepared_otherwise(data.directory, {other, tokenizer});
  };
  EXPECT_EQ(otherwise([](auto&, auto&) {}), "");
  EXPECT_EQ(otherwise([](DataConfig& d, auto&) { d.source_eos = false; }),
            "data.source_eos was \"true\" and is now \"false\"");
  EXPECT_EQ(otherwise([](auto&, TokenizerConfig& t) { t.kind = TokenizerKind::Chars; }),
            "tokenizer.kind was \"bytes\" and is now \"chars\"");
  EXPECT_EQ(otherwise([](DataConfig& d, auto&) { d.shard_tokens = 99, d.max_unknown_fraction = 1; }), "");
  EXPECT_EQ(otherwise([](DataConfig& d, auto&) { d.tokenizer_file = d.directory + "/tokenizer.json"; }), "")
      << "the same tokenizer, taken from its file";
}

TEST(Prepare, EntropyCountsSingleTokens) {
  const Scratch scratch;
  const DataConfig data = text_config(scratch, {scratch.write("a.txt", "a a b c\n")});
  const SideCounts counts = prepare({data, words_tokenizer()}).manifest.splits.at(DataSplit::Train).source;
  EXPECT_DOUBLE_EQ(counts.entropy, 1.5);  // from frequencies of 1/2, 1/4 and 1/4
  EXPECT_EQ(counts.tokens, 5);
  EXPECT_EQ(counts.text_tokens, 4);
}

TEST(Prepare, SplitsWithoutTextAreAnError) {
  const Scratch scratch;
  EXPECT_THAT(error_of([&] {
                prepare({text_config(scratch, {scratch.write("a.txt", "")}), bytes_tokenizer()});
              }),
              HasSubstr("split train holds no document"));
  DataConfig data = text_config(scratch, {scratch.write("b.txt", "one\n")});
  data.split = SplitRule::Records, data.valid_fraction = 0.0;
  prepare({data, bytes_tokenizer()});
  data.valid.files = {};
  data.directory = (scratch / "other").string();
  data.split = SplitRule::Hash, data.test_fraction = 1e-9;
  EXPECT_THAT(error_of([&] {
                prepare({data, bytes_tokenizer()});
              }),
              testing::AllOf(HasSubstr("split test holds no document"), HasSubstr("data.split: characters")));
}

TEST(Prepare, OutputDoesNotDependOnThreads) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 60'000; ++i)
    text += fmt::format("{} word{} and {}\t{} Wort {}\n", i, i % 97, i % 8900 * (i % 8900) % 89, i, i % 13);
  const std::string file = write_gz(scratch, "a.tsv.gz", text);
  std::map<std::string, std::string> first;
  for (const int threads : {1, 2, 5}) {
    DataConfig data = tsv_config(scratch, {file});
    data.directory = (scratch / fmt::format("out{}", threads)).string();
    data.split = SplitRule::Hash, data.valid_fraction = 0.1, data.test_fraction = 0.05;
    data.shard_tokens = 500'000;
    prepare({data,
             {.kind = TokenizerKind::Bpe, .vocabulary = 400, .specials = {"<s>", "</s>"}, .bos = "<s>", .eos = "</s>"}},
            {.threads = threads});
    const auto files = contents(data.directory);
    EXPECT_GE(files.size(), 6u);
    if (threads == 1) first = files;
    EXPECT_EQ(files.size(), first.size());
    for (const auto& [name, bytes] : files) EXPECT_TRUE(bytes == first[name]) << name << " with " << threads;
    EXPECT_TRUE(verify_dataset(data.directory).empty());
  }
}

// Bos stands before the first piece alone.
TEST(Prepare, ALongDocumentIsEncodedInPiecesAsTheWhole) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; text.size() < (size_t{3} << 20); ++i) text += fmt::format("{} wörter  and\n\n 12{} ", i, i % 977);
  const TokenizerConfig bpe = {.kind = TokenizerKind::Bpe, .vocabulary = 300, .specials = {"</s>"}, .eos = "</s>"};
  for (const TokenizerConfig& tokenizer : {bpe, bytes_tokenizer()}) {
    for (const bool valid : {true, false}) {
      DataConfig data =
          text_config(scratch, {scratch.write("a.txt", valid ? text : text + "\xff"), scratch.write("b.txt", "b")});
      data.document_delimiter = DocumentDelimiter::File;
      data.source_bos = !tokenizer.bos.empty();
      fs::remove_all(data.directory);
      const PrepareReport report = prepare({data, tokenizer}, {.threads = 3});
      EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).records, 2);
      EXPECT_EQ(report.manifest.splits.at(DataSplit::Train).invalid_utf8, valid ? 0 : 1);
      const Dataset dataset = Dataset::open(data.directory, DataSplit::Train);
      const auto known = dataset.load_source_tokenizer();
      Ids expected;
      const auto begin = [&] {
        if (data.source_bos) expected.push_back(*known->special(SpecialRole::Bos));
      };
      begin();
      known->encode_append(valid ? text : text + "\xff", expected);
      expected.push_back(*known->special(SpecialRole::Eos));
      begin();
      known->encode_append("b", expected);
      expected.push_back(*known->special(SpecialRole::Eos));
      EXPECT_TRUE(all_tokens(dataset) == expected);
    }
  }
}

TEST(Prepare, ErrorsOfWorkersComeWithTheirPlace) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "word\n";
  text += "st\xffop\n";
  DataConfig data = text_config(scratch, {scratch.write("a.txt", "word\n")});
  data.test.files = {scratch.write("b.txt", text)};
  EXPECT_THAT(error_of([&] {
                prepare({data, words_tokenizer()}, {.threads = 3});
              }),
              HasSubstr("b.txt:100001: byte 0xff"));
  EXPECT_FALSE(fs::exists(data.directory));
}

TEST(Prepare, ProgressRisesToTheWhole) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "some words\n";
  std::vector<PrepareProgress> seen;
  DataConfig data = text_config(scratch, {scratch.write("a.txt", text)});
  data.split = SplitRule::Characters, data.valid_fraction = 0.1;
  prepare({data, words_tokenizer()}, {.progress = [&](const PrepareProgress& p) { seen.push_back(p); }});
  std::vector<std::string> phases;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (i == 0 || seen[i].phase != seen[i - 1].phase) {
      phases.emplace_back(seen[i].phase);
      EXPECT_EQ(seen[i].done_bytes, 0u);
    } else {
      EXPECT_GE(seen[i].done_bytes, seen[i - 1].done_bytes);
    }
  }
  EXPECT_THAT(phases, ElementsAre("measuring the text", "reading text for the tokenizer", "learning the tokenizer",
                                  "tokenising"));
  EXPECT_EQ(seen.back().done_bytes, text.size());
  EXPECT_EQ(seen.back().fraction(), 1);
}

TEST(PrepareShared, TinyShakespeareIsCutAsNanoGptCuts) {
  const std::string name = "text/tinyshakespeare.txt";
  if (!has_shared_data(name)) GTEST_SKIP() << needs(name);
  const Scratch scratch;
  DataConfig data = text_config(scratch, {shared_data(name).string()});
  data.document_delimiter = DocumentDelimiter::File;
  data.split = SplitRule::Characters, data.valid_fraction = 0.1;
  prepare({data, {.kind = TokenizerKind::Chars}});
  const Dataset train = Dataset::open(data.directory, DataSplit::Train),
                valid = Dataset::open(data.directory, DataSplit::Valid);
  EXPECT_EQ(train.num_tokens(), 1'003'854);
  EXPECT_EQ(valid.num_tokens(), 111'540);
  EXPECT_EQ(train.header().source.vocabulary, 65);
  const auto tokenizer = train.load_source_tokenizer();
  EXPECT_EQ(tokenizer->decode(all_tokens(train)) + tokenizer->decode(all_tokens(valid)), read_file(shared_data(name)));
}

}  // namespace
}  // namespace weft
