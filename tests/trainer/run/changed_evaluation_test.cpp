// SPDX-License-Identifier: Apache-2.0
// A run whose validation text, or what is taken of it, has changed: scores from before and after do not compare.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parallel/local/in_process.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/validation.h"

namespace weft {
namespace {

using namespace test;

// Its weights do not move, so that no evaluation is better than the first of its kind, and patience ends the run after
// two more.
class ChangedEvaluation : public testing::Test {
 protected:
  ChangedEvaluation() {
    JobConfig& job = run_.job();
    job.schedule.learning_rate = 1e-20;
    job.evaluation.every_steps = 1, job.evaluation.patience = 2;
    job.checkpoint.every_steps = 1, job.train.max_steps = 100;
    job.data.split = SplitRule::Files, job.data.valid_fraction = 0;
    prepare_with_validation("the boats went by 7 boats\n");
  }
  void prepare_with_validation(const std::string& text) {
    run_.job().data.valid.files = {scratch_.write("valid.txt", text)};
    prepare(run_.job().text(), {.force = true});
  }
  // Trains until patience ends the run, at `step`; returns the step of the best evaluation.
  int64_t best_when_ended_at(int64_t step) {
    EXPECT_EQ(run_.train().step, step);
    return run_.state_at(step).best_step;
  }

  const Scratch scratch_;
  SmallRun run_{scratch_};
};

// Of two kinds of evaluation one is harder: a run changes from either to the other.
TEST_F(ChangedEvaluation, ContextMakesScoresStartFromScratch) {
  run_.job().allow_changes = {"batch.context_length", "data.document_mask"};
  EXPECT_EQ(best_when_ended_at(3), 1);
  run_.job().batch.context_length = 4;
  EXPECT_EQ(best_when_ended_at(6), 4);
  run_.job().batch.context_length = 8;
  EXPECT_EQ(best_when_ended_at(9), 7);
}

TEST_F(ChangedEvaluation, TextMakesScoresStartFromScratch) {
  EXPECT_EQ(best_when_ended_at(3), 1);
  prepare_with_validation("by the 9000000000000000 went\n");
  EXPECT_EQ(best_when_ended_at(6), 4);
  prepare_with_validation("the boats went by 7 boats\n");
  EXPECT_EQ(best_when_ended_at(9), 7);
}

TEST_F(ChangedEvaluation, TextThatIsTheSameKeepsTheBest) {
  EXPECT_EQ(best_when_ended_at(3), 1);
  prepare_with_validation("the boats went by 7 boats\n");
  run_.job().log.every_steps = 2;
  EXPECT_EQ(best_when_ended_at(3), 1);
}

// A node's copy of the dataset may be an old one, prepared with another validation text or with none.
TEST_F(ChangedEvaluation, ARankWithAnotherTextIsRefused) {
  JobConfig other = run_.job();
  for (const std::string text : {"by the 9000000000000000 went\n", ""}) {
    other.data.directory = (scratch_ / ("other" + text.substr(0, 1))).string();
    other.data.valid.files.clear();
    if (!text.empty()) other.data.valid.files = {scratch_.write("other.txt", text)};
    prepare(other.text());
    run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
      Context context(Device{}, 1);
      const std::string error =
          error_of<DataError>([&] { Trainer(context, mesh, rank == 0 ? run_.job() : other).run({}); });
      EXPECT_NE(error.find("has another validation text on rank 1 ("), std::string::npos) << error;
    });
    ASSERT_FALSE(fs::exists(run_.directory() / "metrics.jsonl"));
  }
}

TEST_F(ChangedEvaluation, IdentityNamesWhatIsMeasured) {
  const Dataset valid = Dataset::open(run_.job().data.directory, DataSplit::Valid);
  const auto before = evaluation_identity(run_.job(), &valid);
  EXPECT_EQ(before.size(), 5u);
  JobConfig job = run_.job();
  job.evaluation.max_sequences = 3;
  EXPECT_NE(evaluation_identity(job, &valid), before);
  job = run_.job();
  job.data.document_mask = true;
  EXPECT_NE(evaluation_identity(job, &valid), before);
  job = run_.job();
  job.evaluation.every_steps = 7, job.evaluation.patience = 9, job.train.label_smoothing = 0.1;
  EXPECT_EQ(evaluation_identity(job, &valid), before);
  EXPECT_TRUE(evaluation_identity(job, nullptr).empty());
}

// Prompts with their answers are scored whole, as pairs are: no window has a length.
TEST(EvaluationIdentity, AnswersAreMeasuredUpToTheLongest) {
  const Scratch scratch;
  DatasetBuilder{.directory = scratch.path(), .of_rows = DatasetKind::Answers}.pairs({{{3, 4}, {5, 2}}},
                                                                                     DataSplit::Valid);
  const Dataset valid = Dataset::open(scratch.path(), DataSplit::Valid);
  const auto identity = evaluation_identity(JobConfig{}, &valid);
  EXPECT_TRUE(identity.contains("model.max_length"));
  EXPECT_FALSE(identity.contains("batch.context_length"));
}

}  // namespace
}  // namespace weft
