// SPDX-License-Identifier: Apache-2.0
#include "job/vocabularies.h"

#include <gtest/gtest.h>

#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/trainer.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

constexpr TokenizerKind kBytes = TokenizerKind::Bytes;

JobConfig translation() {
  JobConfig job;
  job.task = Task::Translation;
  job.data.format = TextFormat::Tsv;
  job.tokenizer = {.kind = kBytes, .specials = {"<s>", "</s>"}, .bos = "<s>", .eos = "</s>"};
  return job;
}

// Source and target; nothing if one of them is not known.
std::optional<std::pair<int, int>> sizes(const JobConfig& job) {
  const auto known = known_vocabularies(job, nullptr);
  if (!known) return std::nullopt;
  return std::pair(static_cast<int>(known->source), static_cast<int>(known->target));
}

TEST(Vocabularies, ASectionOfItsOwnGivesTheTargetItsVocabulary) {
  JobConfig job = translation();
  EXPECT_EQ(sizes(job), std::pair(258, 258));
  job.target_tokenizer = TokenizerConfig{.kind = kBytes, .specials = {"<s>"}};
  EXPECT_EQ(sizes(job), std::pair(258, 257));
  job.target_tokenizer->kind = TokenizerKind::Chars;
  EXPECT_FALSE(sizes(job)) << "the text decides how many characters there are";
}

// A run that begins from a checkpoint has the files of its tokenizers and still the sections that made them.
TEST(Vocabularies, AFileOfBothLanguagesOutranksTheSectionOfTheTarget) {
  const Scratch scratch;
  JobConfig job = translation();
  job.target_tokenizer = TokenizerConfig{.kind = TokenizerKind::Chars};
  job.data.tokenizer_file = (scratch / "tokenizer.json").string();
  EXPECT_FALSE(sizes(job)) << "the file does not exist yet";
  TokenizerTrainer({.kind = kBytes}, 1).finish()->save(job.data.tokenizer_file);
  EXPECT_EQ(sizes(job), std::pair(256, 256));
}

}  // namespace
}  // namespace weft
