// SPDX-License-Identifier: Apache-2.0
// Prompts and answers: how they are prepared, and that a language model is trained on the answers alone.
#include <gtest/gtest.h>

#include "data/batches/batch_plan.h"
#include "data/batches/loader.h"
#include "tests/data/prepare/fixture.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using namespace test;

// bytes_tokenizer() has them behind its 256 bytes.
constexpr int32_t kBos = 256, kEos = 257;

DataConfig config_of(const Scratch& scratch, const std::string& lines) {
  return {.directory = (scratch / "out").string(),
          .format = TextFormat::PromptAnswer,
          .train = {.files = {scratch.write("samples.jsonl", lines)}}};
}

constexpr const char* kLines =
    "{\"prompt\": \"ab\", \"answer\": \"cde\", \"source\": 3}\n"
    "\n"
    "{\"answer\": \"y\", \"prompt\": \"x\"}\n"
    "{\"prompt\": \"\", \"answer\": \"nobody asked\"}\n"
    "{\"prompt\": \"long enough\", \"answer\": \"f\"}\n";

std::shared_ptr<const Dataset> prepared(const DataConfig& config) {
  prepare({config, bytes_tokenizer()});
  return std::make_shared<const Dataset>(Dataset::open(config.directory, DataSplit::Train));
}

TEST(PromptAnswer, APromptStandsAsItIsAndItsAnswerEndsWithEos) {
  const Scratch scratch;
  const auto dataset = prepared(config_of(scratch, kLines));
  EXPECT_EQ(dataset->header().kind, DatasetKind::Answers);
  EXPECT_EQ(dataset->header().source.tokenizer_hash, dataset->header().target.tokenizer_hash);
  const IdPairs pairs = all_pairs(*dataset);
  ASSERT_EQ(pairs.size(), 3u) << "a prompt without text is dropped";
  EXPECT_EQ(pairs[0].first, (Ids{'a', 'b'}));
  EXPECT_EQ(pairs[0].second, (Ids{'c', 'd', 'e', kEos}));
  EXPECT_EQ(pairs[1].second, (Ids{'y', kEos}));
}

TEST(PromptAnswer, APromptBeginsWithBosIfTheJobAsksForIt) {
  const Scratch scratch;
  DataConfig config = config_of(scratch, kLines);
  config.source_bos = true;
  const IdPairs pairs = all_pairs(*prepared(config));
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[0].first, (Ids{kBos, 'a', 'b'}));
  EXPECT_EQ(pairs[0].second, (Ids{'c', 'd', 'e', kEos}));
}

TEST(PromptAnswer, OnlyAnswersAreTargetsOnAnyNumberOfReplicas) {
  const Scratch scratch;
  const auto dataset = prepared(config_of(scratch, kLines));
  const auto plan = make_batch_plan({.sequences = 3}, *dataset, 1);
  const auto reader = make_reader(dataset);
  const PlannedStep step = plan->step(0, 0);
  EXPECT_EQ(step.target_tokens(), 4 + 2 + 2);
  for (const int64_t dp : {1, 2, 4}) {
    int64_t targets = 0, inputs = 0;
    for (int64_t rank = 0; rank < dp; ++rank) {
      const StepBatches batches = read_step(step, *reader, rank, dp, 0);
      EXPECT_EQ(batches.step_target_tokens, 8);
      targets += batches.target_tokens();
      for (const MicroBatch& micro : batches.micro) {
        EXPECT_EQ(micro.source.sequences(), 0);
        inputs += micro.input.num_tokens();
        ASSERT_EQ(std::ssize(micro.targets), micro.input.num_tokens());
        for (int64_t s = 0; s < micro.sequences(); ++s) {
          const auto begin = micro.input.tokens.begin() + micro.input.offsets[s];
          if (*begin != 'a') continue;
          const auto at = micro.targets.begin() + micro.input.offsets[s];
          EXPECT_EQ(Ids(begin, begin + 5), (Ids{'a', 'b', 'c', 'd', 'e'}));
          EXPECT_EQ(Ids(at, at + 5), (Ids{-1, 'c', 'd', 'e', kEos}));
        }
      }
    }
    EXPECT_EQ(targets, 8) << dp;
    EXPECT_EQ(inputs, 5 + 2 + 12) << dp;
  }
}

TEST(PromptAnswer, BucketsAndBudgetsGoByTheWholeSequence) {
  const Scratch scratch;
  std::string lines;
  for (int i = 1; i <= 40; ++i) {
    lines += fmt::format("{{\"prompt\": \"{}\", \"answer\": \"{}\"}}\n", std::string(i, 'p'), std::string(41 - i, 'a'));
  }
  const auto dataset = prepared(config_of(scratch, lines));
  const auto plan = make_batch_plan({.tokens = 130, .order = BatchOrder::Bucketed}, *dataset, 1);
  int64_t sequences = 0;
  for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
    EXPECT_LE(plan->step(0, s).tokens(), 130);
    sequences += std::ssize(plan->step(0, s).sequences);
  }
  EXPECT_EQ(sequences, 40);
  // All samples have 41 inputs: three fill a step, whatever part of them is prompt.
  EXPECT_EQ(plan->steps_per_epoch(0), 14);
  const auto evaluation = make_evaluation_plan({.step_tokens = 1 << 20}, *dataset);
  EXPECT_EQ(evaluation->step(0, 0).target_tokens(), 40 * 41 / 2 + 40);
}

TEST(PromptAnswer, PairsThatDoNotFitAreNamed) {
  const Scratch scratch;
  const auto error = [&](const std::string& line) {
    return error_of([&] { prepare({config_of(scratch, line + "\n"), bytes_tokenizer()}); });
  };
  const std::string without = error("{\"prompt\": \"a\"}");
  EXPECT_NE(without.find(":1: the object has no field \"answer\""), std::string::npos);
  EXPECT_NE(without.find("it has \"prompt\"; data.answer_field says"), std::string::npos);
  EXPECT_NE(error("{\"answer\": \"a\"}").find("data.prompt_field says"), std::string::npos);
  EXPECT_NE(error("{\"prompt\": 3, \"answer\": \"b\"}").find("field \"prompt\" is no string"), std::string::npos);
  TokenizerConfig endless = bytes_tokenizer();
  endless.eos = "";
  EXPECT_NE(error_of([&] {
              prepare({config_of(scratch, kLines), endless});
            }).find("the answers need `eos`"),
            std::string::npos);
  DataConfig characters = config_of(scratch, kLines);
  characters.split = SplitRule::Characters, characters.valid_fraction = 0.1;
  EXPECT_NE(error_of([&] { characters.check(); }).find("would cut records"), std::string::npos);
}

}  // namespace
}  // namespace weft
