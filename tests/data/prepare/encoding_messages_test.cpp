// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "data/prepare/encoding/messages.h"
#include "data/tokenizer/trainer.h"
#include "tests/data/prepare/fixture.h"

namespace weft {
namespace {

using namespace test;

TextBatch batch_of_two_files() {
  const auto a = std::make_shared<const fs::path>("a.txt"), b = std::make_shared<const fs::path>("b.txt");
  TextBatch batch;
  batch.push_back({DataSplit::Train, {.source = "whole", .file = a, .target_file = a, .line = 3, .on_one_line = true}});
  batch.push_back({DataSplit::Valid, {.source = "its begin", .file = a, .target_file = a, .line = 4, .ends = false}});
  batch.push_back({DataSplit::Valid, {.source = "its end", .file = a, .target_file = a, .line = 9, .begins = false}});
  batch.push_back({DataSplit::Test, {.source = "two", .target = "sides \xff", .file = a, .target_file = b, .line = 7}});
  batch.push_back({DataSplit::Test, {.source = "", .target = "", .file = b, .target_file = a, .line = 1}});
  return batch;
}

TEST(EncodingMessages, TextArrivesAsItWasSent) {
  TextBatch sent = batch_of_two_files();
  const TextBatch found = unpacked_text(packed(sent));
  ASSERT_EQ(found.size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    const auto& [split, record] = sent[i];
    const auto& [found_split, other] = found[i];
    EXPECT_EQ(found_split, split) << i;
    EXPECT_EQ(std::tie(other.source, other.target, *other.file, *other.target_file, other.line, other.on_one_line,
                       other.begins, other.ends),
              std::tie(record.source, record.target, *record.file, *record.target_file, record.line, record.on_one_line,
                       record.begins, record.ends))
        << i;
  }
}

TEST(EncodingMessages, IdsArriveAsTheyWereSent) {
  const TokenizerPtr tokenizer = TokenizerTrainer(bytes_tokenizer(), 1).finish();
  const SequenceEncoder encoder({.format = TextFormat::Tsv}, tokenizer, tokenizer);
  EncodedBatch sent = encoder.encode(batch_of_two_files());
  sent.bad.add({.reasons = {{"odd", 2}}, .first = {"a.txt:1: odd"}});
  const EncodedBatch found = unpacked_ids(packed(sent));
  EXPECT_EQ(found.ids, sent.ids);
  EXPECT_EQ(found.dropped_empty, sent.dropped_empty);
  EXPECT_EQ(found.bad.skipped().reasons, sent.bad.skipped().reasons);
  EXPECT_EQ(found.bad.skipped().first, sent.bad.skipped().first);
  ASSERT_EQ(found.records.size(), sent.records.size());
  ASSERT_FALSE(sent.records.empty());
  for (size_t i = 0; i < sent.records.size(); ++i) {
    const EncodedBatch::Record &a = sent.records[i], &b = found.records[i];
    EXPECT_EQ(std::tie(a.split, a.source_end, a.target_end, a.begins, a.ends, a.truncated, a.invalid_utf8,
                       a.source_bytes, a.target_bytes, a.reference),
              std::tie(b.split, b.source_end, b.target_end, b.begins, b.ends, b.truncated, b.invalid_utf8,
                       b.source_bytes, b.target_bytes, b.reference))
        << i;
  }
}

TEST(EncodingMessages, TokenizersArriveAsTheyAre) {
  const TokenizerPtr one = TokenizerTrainer(bytes_tokenizer(), 1).finish();
  TokenizerTrainer words(words_tokenizer(), 1);
  words.add("a b c");
  const TokenizerPtr other = words.finish();
  const Tokenizers shared = unpacked_tokenizers(packed({.source = one, .target = one}));
  EXPECT_EQ(shared.source->hash(), one->hash());
  EXPECT_EQ(shared.target, shared.source);
  const Tokenizers own = unpacked_tokenizers(packed({.source = one, .target = other}));
  EXPECT_EQ(own.source->hash(), one->hash());
  EXPECT_EQ(own.target->hash(), other->hash());
}

TEST(EncodingMessages, BytesThatBreakOffAreAnError) {
  TextBatch batch = batch_of_two_files();
  const std::string bytes = packed(batch);
  for (size_t n = 0; n < bytes.size(); n += 7) EXPECT_THROW(unpacked_text(bytes.substr(0, n)), DataError) << n;
}

}  // namespace
}  // namespace weft
