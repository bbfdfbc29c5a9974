// SPDX-License-Identifier: Apache-2.0
// The validation split is translated while a model learns: `weft evaluate` finds the same score, however many ranks
// share the work.
#include "evaluate/translation_evaluation.h"

#include <gmock/gmock.h>

#include "evaluate/evaluation.h"
#include "parallel/local/in_process.h"
#include "tests/evaluate/fixture.h"

namespace weft {
namespace {

using namespace test;
using testing::HasSubstr;

using TranslationsOfAStep = BleuRun;

// The score of `weft evaluate --split valid --beam BEAM --max-sequences PAIRS --bleu KEY=VALUE`, by the job's metric.
CorpusScore evaluated(const JobConfig& job, const fs::path& checkpoint) {
  const ValidationTranslation& config = job.evaluation.translation;
  SearchConfig search;
  search.method = config.beam == 1 ? SearchMethod::Greedy : SearchMethod::Beam;
  search.beam = config.beam;
  const MetricEntry& entry = *translation_metric(job.evaluation.metric);
  EvaluateOptions options{.checkpoint = checkpoint, .split = DataSplit::Valid};
  options.translation =
      TranslationOptions{.search = search, .metrics = every_metric({{std::string(entry.option), config.settings}})};
  options.perplexity.max_sequences = config.max_pairs;
  Session session = Session::alone();
  return evaluate_split(session, options).translation->of(entry.name);
}

TranslationEvaluation evaluation_of(const JobConfig& job, const LoadedModel& loaded) {
  auto valid = std::make_shared<const Dataset>(Dataset::open(job.data.directory, DataSplit::Valid));
  return {job, std::move(valid), loaded.source_tokenizer, loaded.target_tokenizer};
}

TEST_F(TranslationsOfAStep, EqualWeftEvaluateOnItsCheckpoint) {
  for (const int64_t beam : {1, 3}) {
    job.evaluation.translation.beam = beam;
    job.evaluation.translation.max_pairs = beam == 1 ? 0 : 5;
    train(fmt::format("beam-{}", beam));
    const auto lines = evaluations();
    ASSERT_EQ(lines.size(), 4u);
    for (const auto& line : lines) {
      const CorpusScore expected = evaluated(job, checkpoint(line.at("step")));
      EXPECT_EQ(line.at("bleu"), expected.score()) << line.dump();
      EXPECT_EQ(line.at("bleu_signature"), expected.signature());
      EXPECT_EQ(line.at("pairs"), expected.lines());
    }
    EXPECT_EQ(lines[0].at("pairs"), beam == 1 ? 9 : 5);
    EXPECT_GT(lines.back().at("bleu"), 20) << "this test needs a model that has learnt something";
    EXPECT_THAT(lines[0].at("bleu_signature").get<std::string>(), HasSubstr("tok:char"));
  }
}

TEST_F(TranslationsOfAStep, AreTheSameOnAnyLayout) {
  train();
  const CorpusScore expected = evaluated(job, checkpoint(24));
  for (const MeshLayout layout :
       {MeshLayout{.dp = 2}, MeshLayout{.dp = 12}, MeshLayout{.tp = 2}, MeshLayout{.dp = 2, .tp = 2}}) {
    run_in_process(layout, [&](Mesh& mesh, int) {
      Context context(Device{}, 1);
      const LoadedModel loaded = load_model(context, mesh, job.run_directory());
      const TranslationEvaluation evaluation = evaluation_of(job, loaded);
      const TranslationReport report = evaluation.measure(*loaded.model);
      EXPECT_EQ(report.score, expected.score()) << layout.dp << " x " << layout.tp;
      EXPECT_EQ(report.signature, expected.signature());
      EXPECT_EQ(report.pairs, 9);
      EXPECT_FALSE(report.given_up);
      EXPECT_TRUE(evaluation.measure(*loaded.model, [] { return true; }).given_up);
    });
  }
}

TEST_F(TranslationsOfAStep, TakeTheFewestPairsThatTheJobAllows) {
  const auto pairs = [&](int64_t max_sequences, int64_t max_pairs) {
    job.evaluation.max_sequences = max_sequences, job.evaluation.translation.max_pairs = max_pairs;
    Context context(Device{}, 1);
    Mesh mesh = Mesh::single();
    const LoadedModel loaded = load_model(context, mesh, job.run_directory());
    return evaluation_of(job, loaded).measure(*loaded.model).pairs;
  };
  job.train.max_steps = 1;
  train();
  EXPECT_EQ(pairs(0, 0), 9);
  EXPECT_EQ(pairs(0, 1000), 9);
  EXPECT_EQ(pairs(0, 3), 3);
  EXPECT_EQ(pairs(4, 0), 4);
  EXPECT_EQ(pairs(4, 3), 3);
  EXPECT_EQ(pairs(2, 3), 2);
}

}  // namespace
}  // namespace weft
