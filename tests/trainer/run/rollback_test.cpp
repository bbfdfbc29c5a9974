// SPDX-License-Identifier: Apache-2.0
// A run that has diverged rolls back to its last good checkpoint, on all ranks together, at most train.max_rollbacks
// times.
#include "trainer/run/rollback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "parallel/local/in_process.h"
#include "tests/support/error_of.h"
#include "tests/support/modes_bind_root.h"
#include "tests/support/small_disk.h"
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

  // Trains on `ranks` replicas. A weight becomes infinite after step `when`, the first `times` times that the run is
  // there. After step 4, steps 5, 6 and 7 are skipped, and the last of these skips is one too many.
  void train(int ranks, int times, int64_t when = 4) {
    run_in_process({.dp = ranks}, [&](Mesh& mesh, int) {
      int poisoned = 0;
      Context context(Device{}, 1);
      Trainer trainer(context, mesh, run.job());
      trainer.run({}, [&](int64_t step) {
        if (step != when || poisoned++ >= times) return;
        trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3] =
            std::numeric_limits<float>::infinity();
      });
    });
  }

  Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(Rollback, ContinuesFromTheLastGoodCheckpointWithLaterData) {
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, 1);
    EXPECT_EQ(run.rollbacks(), (Rollbacks{{7, 3}})) << ranks;
    const RunState end = run.state_at(10);
    EXPECT_EQ(end.step, 10);
    EXPECT_EQ(end.rollbacks, 1);
    EXPECT_EQ(end.skips, 3);
    EXPECT_EQ(end.updates, 10);
    // The run took steps 4 to 7 twice, the second time on other data.
    SmallRun longer(scratch, "longer");
    longer.job().train.max_steps = 14;
    longer.train();
    const RunState other = longer.state_at(14);
    EXPECT_EQ(end.position, other.position);
    EXPECT_TRUE(fs::exists(run.checkpoint(6)));
    EXPECT_EQ(run.state_at(6).skips_in_row, 0);
    std::vector<int64_t> steps;
    for (const auto& line : read_metrics(run.directory(), "train")) steps.push_back(line["step"]);
    EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  }
}

// Step 7 is the one that rolls back to step 3: a trace has no steps that were undone beside those that took their
// place.
TEST_F(Rollback, EndsATraceWithItsLastWholeStep) {
  const auto traced = [&](int64_t first) {
    fs::remove_all(run.directory());
    run.job().train.trace = {first, 20};
    train(2, 1);
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(run.directory())) {
      if (entry.path().filename().string().starts_with("trace-")) files.push_back(entry.path().filename());
    }
    std::ranges::sort(files);
    return files;
  };
  EXPECT_EQ(traced(6), (std::vector<std::string>{"trace-6-10.json", "trace-6-6.json"}));
  EXPECT_EQ(traced(7), std::vector<std::string>{"trace-7-10.json"}) << "no whole step came before the rollback";
}

TEST_F(Rollback, IsLimitedInNumber) {
  run.job().train.max_rollbacks = 2;
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    EXPECT_NE(error_of([&] { train(ranks, 100); }).find("not finite, after 2 rollbacks"), std::string::npos) << ranks;
    EXPECT_TRUE(fs::exists(run.checkpoint(3)));
    EXPECT_FALSE(fs::exists(run.checkpoint(6)));
  }
}

TEST_F(Rollback, NeedsACheckpoint) {
  run.job().checkpoint.every_steps = 0;
  EXPECT_NE(error_of([&] { train(1, 1); })
                .find("in a row had a loss or gradient that is not finite, and there is no checkpoint from before to "
                      "roll back to"),
            std::string::npos);
}

// Saves are due at steps 6, 9 and 12, which are skipped. Retention, which keeps two, has the checkpoint of step 3 then.
TEST_F(Rollback, FindsTheGoodCheckpointAfterALongDivergence) {
  run.job().train.max_nonfinite_steps = 8, run.job().train.max_steps = 20;
  run.job().checkpoint.keep_last = 2;
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, 1);
    EXPECT_EQ(run.rollbacks(), (Rollbacks{{13, 3}})) << ranks;
    EXPECT_EQ(run.state_at(20).updates, 20);
  }
}

// The save that was due at a skipped step follows the next step that is not skipped.
TEST_F(Rollback, IsNotNeededAfterAFewSkips) {
  run.job().train.max_nonfinite_steps = 8;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job());
  float healthy = 0;
  trainer.run({}, [&](int64_t step) {
    float& weight = trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3];
    if (step == 4) healthy = std::exchange(weight, std::numeric_limits<float>::infinity());
    if (step == 7) weight = healthy;
  });
  EXPECT_FALSE(fs::exists(run.checkpoint(6)));
  EXPECT_EQ(run.state_at(8).skips, 3);
  EXPECT_TRUE(fs::exists(run.checkpoint(9)));
}

// A stop saves what there is, so that no data is seen twice. The run does not go back to that checkpoint.
TEST_F(Rollback, PassesOverWhatAStopSavedWhileItDiverged) {
  bool stop = false;
  float healthy = 0;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] { return stop; }});
  trainer.run({}, [&](int64_t step) {
    float& weight = trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3];
    if (step == 4) stop = true, healthy = std::exchange(weight, std::numeric_limits<float>::infinity());
    if (step == 5) weight = healthy;
  });
  EXPECT_EQ(run.state_at(5).skips_in_row, 1);
  EXPECT_EQ(last_good_checkpoint(run.directory() / "checkpoints"), run.checkpoint(3).string());
}

// Step 4 is evaluated as the best and saved, though its update is skipped: the run goes back beyond it, to step 2, and
// step 2 is the best again, which retention keeps.
TEST_F(Rollback, TheBestOfWhatWasSetAsideIsForgotten) {
  run.job().checkpoint.every_steps = 0, run.job().checkpoint.keep_last = 1;
  run.job().evaluation.every_steps = 2;
  run.job().train.max_steps = 8;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job());
  float healthy = 0;
  int visits_of_4 = 0;
  trainer.run({}, [&](int64_t step) {
    float& weight = trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3];
    const auto poison = [&] { healthy = std::exchange(weight, std::numeric_limits<float>::infinity()); };
    if (step == 4 && ++visits_of_4 == 2) {  // from here on every loss is larger than at step 2
      for (float& x : trainer.model().parameters().find("decoder.embedding.tokens")->value().span<float>()) x *= 1000;
    }
    if (visits_of_4 == 0 && step == 3) poison();
    if (visits_of_4 == 1 && step == 4) weight = healthy;
    if (visits_of_4 == 1 && step == 5) poison();
  });
  EXPECT_EQ(run.rollbacks(), (Rollbacks{{8, 2}}));
  EXPECT_EQ(run.state_at(8).best_step, 2);
  EXPECT_TRUE(has_manifest(run.checkpoint(2)));
}

// The step that a watchdog reports.
TEST_F(Rollback, TheHeartbeatGoesBackToo) {
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  std::vector<int64_t> seen;  // after each step, while the next one is computed
  Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] {
                    seen.push_back(mesh.heartbeat().read().step);
                    return false;
                  }});
  bool poisoned = false;
  trainer.run({}, [&](int64_t step) {
    if (step != 4 || std::exchange(poisoned, true)) return;
    trainer.model().parameters().find("decoder.embedding.positions")->value().data<float>()[3] =
        std::numeric_limits<float>::infinity();
  });
  ASSERT_EQ(run.rollbacks(), (Rollbacks{{7, 3}}));
  const auto last = std::ranges::find(seen, 6);
  ASSERT_LT(last, seen.end() - 1);
  EXPECT_EQ(*(last + 1), 3);
}

// The run would go back further than it must.
TEST_F(Rollback, PassesOverNoCheckpointThatMayNotBeRead) {
  run.job().train.max_steps = 6;
  run.train();
  const fs::path checkpoints = run.directory() / "checkpoints";
  ASSERT_EQ(last_good_checkpoint(checkpoints), run.checkpoint(6).string());
  fs::permissions(run.checkpoint(6) / "manifest.json", fs::perms::none);
  const auto result = in_child([&] {
    let_modes_bind_root();
    EXPECT_NE(error_of<AccessError>([&] { last_good_checkpoint(checkpoints); }).find(run.checkpoint(6).string()),
              std::string::npos);
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

TEST_F(Rollback, WeightsThatAreNotFiniteAreNeverSaved) {
  for (const int ranks : {1, 2}) {
    fs::remove_all(run.directory());
    train(ranks, 1, 6);  // a save is due after this very step, which was not skipped
    EXPECT_EQ(run.rollbacks(), (Rollbacks{{6, 3}})) << ranks;
    EXPECT_EQ(run.state_at(6).updates, 6);
  }
  run.job().train.on_divergence = OnDivergence::Stop;
  fs::remove_all(run.directory());
  EXPECT_NE(error_of([&] { train(2, 1, 6); }).find("step 6: weights are not finite"), std::string::npos);
  EXPECT_FALSE(fs::exists(run.checkpoint(6)));
  EXPECT_TRUE(fs::exists(run.checkpoint(3)));
}

TEST_F(Rollback, TheLastStepIsLookedAtToo) {
  train(1, 1, 10);
  EXPECT_EQ(read_metrics(run.directory(), "roll_back").size(), 1u);
  EXPECT_EQ(run.state_at(10).rollbacks, 1);
}

TEST_F(Rollback, IsOffByDefault) {
  run.job().train.on_divergence = OnDivergence::Stop;
  EXPECT_NE(error_of([&] { train(2, 1); }).find("step 7: 3 steps in a row"), std::string::npos);
}

}  // namespace
}  // namespace weft
