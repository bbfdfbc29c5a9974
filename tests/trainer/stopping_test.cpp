// SPDX-License-Identifier: Apache-2.0
// A run that is asked to stop proceeds directly to the save, on all ranks together; work that was due is done after
// the resume.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// Runs two replicas, each with its own signals, and returns their results.
std::array<TrainResult, 2> train_two(const SmallRun& run, const std::function<RunSignals(int rank)>& signals,
                                     const std::function<void(int rank, int64_t step)>& after_step = {}) {
  std::array<TrainResult, 2> results;
  run_in_process({.dp = 2}, [&](Mesh& mesh, int rank) {
    Context context(Device{}, 1);
    Trainer trainer(context, mesh, const_cast<SmallRun&>(run).job(), {}, signals(rank));
    results[static_cast<size_t>(rank)] = trainer.run({}, [&](int64_t step) {
      if (after_step) after_step(rank, step);
    });
  });
  return results;
}

// Asks one rank to stop when `step` is done: after its control all-reduce, before what is due then.
TrainResult stop_after(SmallRun& run, int64_t step) {
  bool asked = false;
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job(), {}, {.stop_asked = [&] { return asked; }});
  return trainer.run({}, [&](int64_t done) { asked = done == step; });
}

std::vector<double> evaluated(const SmallRun& run) {
  std::vector<double> series;
  for (const auto& line : read_metrics(run.directory(), "eval")) {
    series.push_back(line["step"].get<double>()), series.push_back(line["loss"].get<double>());
  }
  return series;
}

TEST(Stopping, ARequestOfOneRankStopsAllRanks) {
  const Scratch scratch;
  const SmallRun run(scratch);
  for (const int asked_rank : {0, 1}) {
    fs::remove_all(run.directory());
    std::atomic<bool> asked{false};
    const auto results = train_two(
        run, [&](int rank) { return RunSignals{.stop_asked = [&, rank] { return rank == asked_rank && asked; }}; },
        [&](int rank, int64_t step) {
          if (rank == asked_rank && step == 3) asked = true;
        });
    for (const TrainResult& result : results) {
      EXPECT_EQ(result.exit, ExitCode::Preempted);
      EXPECT_EQ(result.step, 4);
      EXPECT_FALSE(result.out_of_time);
      ASSERT_TRUE(result.last_checkpoint);
      EXPECT_EQ(*result.last_checkpoint, run.checkpoint(4));
    }
  }
}

// The clocks of two ranks differ; both stop at the same step, no matter which clock is ahead.
TEST(Stopping, TimeIsUpForAllRanksAtOnce) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().train.max_time = Duration{.seconds = 1000};
  for (const int ahead : {0, 1}) {
    fs::remove_all(run.directory());
    std::array<std::atomic<double>, 2> clock{};
    const auto results = train_two(
        run,
        [&](int rank) {
          return RunSignals{.stop_asked = [] { return false; },
                            .seconds = [&clock, rank] { return clock[static_cast<size_t>(rank)].load(); }};
        },
        [&](int rank, int64_t step) {
          if (rank == ahead && step == 4) clock[static_cast<size_t>(rank)] = 1001;
        });
    for (const TrainResult& result : results) {
      EXPECT_EQ(result.exit, ExitCode::Preempted);
      EXPECT_EQ(result.step, 5);
    }
    EXPECT_EQ(results[0].out_of_time, ahead == 0);
  }
}

// Before the first save a minute is left for it, twice; beyond that there is room for any time that no step has taken.
TEST(Stopping, RoomIsLeftForAnotherStep) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().train.max_time = Duration{.seconds = 1000};
  Context context(Device{}, 1);
  Mesh mesh = Mesh::single();
  Trainer trainer(context, mesh, run.job(), {},
                  {.stop_asked = [] { return false; }, .seconds = [] { return 880 - 1e-9; }});
  const TrainResult result = trainer.run({});
  EXPECT_EQ(result.exit, ExitCode::Preempted);
  EXPECT_EQ(result.step, 2);
}

TEST(Stopping, AnInterruptedEvaluationIsDoneFirstOnResume) {
  const Scratch scratch;
  SmallRun whole(scratch, "whole"), stopped(scratch, "stopped");
  for (SmallRun* run : {&whole, &stopped}) run->job().evaluation.every_steps = 3;
  whole.train();
  const TrainResult result = stop_after(stopped, 3);
  EXPECT_EQ(result.exit, ExitCode::Preempted);
  EXPECT_EQ(result.step, 3);
  EXPECT_TRUE(evaluated(stopped).empty()) << "the evaluation was not given up";
  EXPECT_TRUE(stopped.state_at(3).evaluation_left);
  EXPECT_EQ(stopped.train().exit, ExitCode::Done);
  EXPECT_EQ(evaluated(stopped), evaluated(whole));
  EXPECT_EQ(tensor_hashes(stopped.checkpoint(8)), tensor_hashes(whole.checkpoint(8)));
  RunState end = stopped.state_at(8), expected = whole.state_at(8);
  end.run = expected.run;
  EXPECT_EQ(end, expected);
}

// The rank is asked during the step, so that the step's own control all-reduce carries the request.
TEST(Stopping, WorkDueAfterTheStepIsSkipped) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().evaluation.every_steps = 3;
  EXPECT_EQ(stop_after(run, 2).step, 3);
  EXPECT_TRUE(evaluated(run).empty());
  EXPECT_TRUE(run.state_at(3).evaluation_left);
  EXPECT_EQ(run.train().exit, ExitCode::Done);
  EXPECT_EQ(read_metrics(run.directory(), "eval").size(), 3u);  // at steps 3, 6 and 8; 8 is the last
}

TEST(Stopping, TheLastEvaluationIsInterruptedToo) {
  const Scratch scratch;
  SmallRun run(scratch);
  for (const int64_t step : {7, 8}) {
    fs::remove_all(run.directory());
    const TrainResult result = stop_after(run, step);
    EXPECT_EQ(result.exit, ExitCode::Preempted);
    EXPECT_EQ(result.step, 8);
    EXPECT_TRUE(evaluated(run).empty());
    const TrainResult again = run.train();
    EXPECT_EQ(again.exit, ExitCode::Done);
    EXPECT_TRUE(std::isfinite(again.best_loss));
    EXPECT_EQ(evaluated(run).size(), 2u);
  }
}

// A step stays the best even if it was saved before its evaluation.
TEST(Stopping, TheBestFoundAfterwardsIsKept) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().evaluation.every_steps = 3;
  run.job().checkpoint.keep_last = 1;
  stop_after(run, 3);
  run.job().schedule.learning_rate = 1e3;  // every later evaluation is worse
  run.job().train.clip_norm = 0;
  run.job().allow_changes = {"schedule.learning_rate", "train.clip_norm"};
  const TrainResult result = run.train();
  ASSERT_EQ(run.state_at(8).best_step, 3) << "this test needs later steps to be worse";
  EXPECT_EQ(result.step, 8);
  EXPECT_TRUE(has_manifest(run.checkpoint(3)));
}

TEST(Stopping, PendingGenerationsAreDroppedOnAStop) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().log.generations = {.every_steps = 1, .prompts = {"the "}, .temperatures = {0, 1}, .max_tokens = 3};
  testing::internal::CaptureStderr();  // messages go to standard error until a program starts its log
  stop_after(run, 2);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("step 1, temperature 1:"), std::string::npos);
  EXPECT_EQ(said.find("step 2, temperature"), std::string::npos) << said;
}

TEST(Stopping, APromptThatCannotBeGeneratedFromIsRefusedBeforeTheFirstStep) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().log.generations = {.every_steps = 2, .prompts = {"the the the"}, .temperatures = {0}, .max_tokens = 3};
  run.job().model.max_length = 8;  // the prompt has 11 tokens
  try {
    run.train();
    ADD_FAILURE() << "it trained";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("log.generations.prompts[0]"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(list_checkpoints(run.directory()).empty());
}

}  // namespace
}  // namespace weft
