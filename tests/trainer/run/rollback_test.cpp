// SPDX-License-Identifier: Apache-2.0
// A run that has diverged rolls back to its last good checkpoint, on all ranks together, at most train.max_rollbacks
// times.
#include <gtest/gtest.h>

#include <limits>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

struct Rollback : testing::Test {
  Rollback() {
    run.job().train.max_nonfinite_steps = 2;
    run.job().train.on_divergence = OnDivergence::RollBack;
    run.job().train.max_steps = 10;
  }

  // Trains on `ranks` replicas. A weight becomes infinite after step 4, the first `times` times that the run is there:
  // steps 5, 6 and 7 are skipped, and the last of these skips is one too many.
  void train(int ranks, int times) {
    run_in_process({.dp = ranks}, [&](Mesh& mesh, int) {
      int poisoned = 0;
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      trainer.run({}, [&](int64_t step) {
        if (step != 4 || poisoned++ >= times) return;
        trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3] =
            std::numeric_limits<float>::infinity();
      });
    });
  }
  RunState state_at(int64_t step) const {
    return run_state_from(read_checkpoint_manifest(run.checkpoint(step)).state, "test");
  }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(Rollback, ContinuesFromTheLastGoodCheckpointWithLaterData) {
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, 1);
    const auto events = read_metrics(run.directory(), "roll_back");
    ASSERT_EQ(events.size(), 1u) << ranks;
    EXPECT_EQ(events[0]["step"], 3);
    EXPECT_EQ(events[0]["from_step"], 7);
    const RunState end = state_at(10);
    EXPECT_EQ(end.step, 10);
    EXPECT_EQ(end.rollbacks, 1);
    EXPECT_EQ(end.skips, 3);
    EXPECT_EQ(end.updates, 10);
    // The run took steps 4 to 7 twice, the second time on other data.
    SmallRun longer(scratch, "longer");
    longer.job().train.max_steps = 14;
    longer.train();
    const RunState other = run_state_from(read_checkpoint_manifest(longer.checkpoint(14)).state, "test");
    EXPECT_EQ(end.position, other.position);
    EXPECT_TRUE(fs::exists(run.checkpoint(6)));
    EXPECT_EQ(state_at(6).skips_in_row, 0);
    EXPECT_TRUE(fs::exists(run.checkpoint(6).string() + ".before-0")) << "what was saved while it diverged is lost";
    std::vector<int64_t> steps;
    for (const auto& line : read_metrics(run.directory(), "train")) steps.push_back(line["step"]);
    EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  }
}

TEST_F(Rollback, IsLimitedInNumber) {
  run.job().train.max_rollbacks = 2;
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    EXPECT_NE(error_of([&] { train(ranks, 100); }).find("not finite, after 2 rollbacks"), std::string::npos) << ranks;
    EXPECT_TRUE(fs::exists(run.checkpoint(6).string() + ".before-1"));
    EXPECT_TRUE(fs::exists(run.checkpoint(3)));
  }
}

TEST_F(Rollback, NeedsACheckpoint) {
  run.job().checkpoint.every_steps = 0;
  EXPECT_NE(error_of([&] { train(1, 1); }).find("no checkpoint from before them to roll back to"), std::string::npos);
}

TEST_F(Rollback, IsOffByDefault) {
  run.job().train.on_divergence = OnDivergence::Stop;
  EXPECT_NE(error_of([&] { train(2, 1); }).find("step 7: 3 steps in a row"), std::string::npos);
}

}  // namespace
}  // namespace weft
