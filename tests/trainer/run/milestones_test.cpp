// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/milestones.h"

#include <gtest/gtest.h>

#include "data/batches/batch_plan.h"

namespace weft {
namespace {

// Epochs of 10, 11, 12, ... steps.
class GrowingEpochs final : public BatchPlan {
 public:
  int64_t steps_per_epoch(int64_t epoch) const override { return 10 + epoch; }
  PlannedStep step(int64_t, int64_t) const override { return {}; }
  int64_t largest_step(int64_t) const override { return 0; }
  int64_t sequences_per_epoch() const override { return 100; }
  std::string order_text() const override { return ""; }
};

JobConfig job_of(int64_t max_steps, int64_t max_epochs) {
  JobConfig job;
  job.train.max_steps = max_steps, job.train.max_epochs = max_epochs;
  return job;
}

TEST(RunEnd, IsTheFirstOfStepsAndEpochs) {
  EXPECT_EQ(run_end(job_of(40, 0), GrowingEpochs()).max_steps, 40);
  EXPECT_EQ(run_end(job_of(0, 3), GrowingEpochs()).max_steps, 33);
  EXPECT_EQ(run_end(job_of(40, 3), GrowingEpochs()).max_steps, 33);
  EXPECT_EQ(run_end(job_of(12, 3), GrowingEpochs()).max_steps, 12);
}

// A start of many epochs, each of which is sorted, takes longer than a watchdog waits for a rank that shows nothing.
TEST(RunEnd, BeatsAfterEachEpochThatIsCounted) {
  int beats = 0;
  run_end(job_of(0, 40), GrowingEpochs(), [&] { ++beats; });
  EXPECT_EQ(beats, 40);
}

TEST(RunEnd, WaitsForAnEvaluationThatAStopLeftOut) {
  const RunEnd end{.max_steps = 10, .patience = 2};
  RunState state;
  state.step = 10, state.evaluation_left = true;
  EXPECT_FALSE(end.reached(state));
  state.evaluation_left = false;
  EXPECT_TRUE(end.reached(state));
  state.step = 9;
  EXPECT_FALSE(end.reached(state));
  state.evaluations_since_best = 2;
  EXPECT_TRUE(end.reached(state));
}

TEST(Milestones, AreDueByStepsOrAtTheEndOfEpochs) {
  RunState state;
  state.step = 12, state.position.epoch = 2;
  EXPECT_TRUE(is_due(state, 4, 0));
  EXPECT_FALSE(is_due(state, 5, 2)) << "the epoch has not ended";
  state.epoch_end = true;
  EXPECT_TRUE(is_due(state, 5, 2));
  EXPECT_FALSE(is_due(state, 5, 3));
  EXPECT_FALSE(is_due(state, 0, 0));
}

}  // namespace
}  // namespace weft
