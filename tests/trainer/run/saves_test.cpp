// SPDX-License-Identifier: Apache-2.0
// The checkpoints that a run has at every moment: the best one, and those of the branch from which it resumed.
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "checkpoint/attachments.h"
#include "job/dataset_checks.h"
#include "job/vocabularies.h"
#include "tests/support/small_disk.h"
#include "tests/trainer/fixture/small_run.h"

namespace weft {
namespace {

using namespace test;

// The parts of a trainer that save, driven by hand.
class RunSaves : public testing::Test {
 protected:
  static JobConfig with_policy(JobConfig job) {
    job.checkpoint.keep_last = 1, job.checkpoint.on_failure = OnFailure::Continue;
    return job;
  }
  void SetUp() override {
    setup_.parameters().initialise(1);
    directory_.take(0);
    directory_.create();
    saves_.begin();
  }
  // The evaluation of `step` is the best so far.
  void found_best(int64_t step, double loss, std::optional<double> bleu = {}) {
    state_.step = state_.best_step = step, state_.best_loss = loss, state_.best_score = bleu;
  }
  void save(int64_t step) {
    state_.step = step;
    saves_.start();
    saves_.commit();
  }
  bool is_there(int64_t step) const { return fs::exists(run_.checkpoint(step) / "manifest.json"); }
  int64_t best_of_the_latest() const {
    return run_state_from(latest_valid(directory_.checkpoints())->manifest().state, "test").best_step;
  }

  const Scratch scratch_;
  SmallRun run_{scratch_};
  const JobConfig job_ = with_policy(run_.job());
  Context context_{Device{}, 1};
  Mesh mesh_ = Mesh::single();
  TrainingData data_ = open_training_data(job_, mesh_.world());
  TrainingSetup setup_{context_, mesh_, job_, vocabularies_of(data_.train->header())};
  RunDirectory directory_{run_.directory(), mesh_.world()};
  Reporter reporter_{job_, setup_.parameters().global_elements(), context_, mesh_.world(), {}};
  RunState state_;
  Saves saves_{job_,       setup_,
               directory_, reporter_,
               state_,     {.attachments = tokenizer_attachments(*data_.source_tokenizer, *data_.target_tokenizer)}};
};

TEST_F(RunSaves, TheBestStaysUntilItsSuccessorIsCommitted) {
  found_best(3, 2.0);
  save(3);
  state_.step = 6;
  saves_.start();  // still under way when step 8 is found to be better
  found_best(8, 1.0);
  saves_.start();
  EXPECT_TRUE(is_there(3)) << "the best one went before the better one was there";
  EXPECT_TRUE(is_there(6));
  EXPECT_EQ(best_of_the_latest(), 3);
  saves_.commit();
  EXPECT_FALSE(is_there(3));
  EXPECT_EQ(best_of_the_latest(), 8);
  save(9);
  EXPECT_TRUE(is_there(8));
}

TEST_F(RunSaves, ABestThatCouldNotBeSavedIsForgotten) {
  found_best(3, 2.0, 20.0);
  save(3);
  found_best(8, 1.0, 30.0);
  saves_.start();
  while (saves_.states().written == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fs::remove_all(unfinished_path(run_.checkpoint(8), 0));
  saves_.commit();
  EXPECT_FALSE(is_there(8));
  EXPECT_EQ(state_.best_step, 3);
  EXPECT_EQ(state_.best_score, 20.0);
  EXPECT_EQ(state_.best_loss, 2.0);  // the next evaluation must beat only the checkpoints that exist
  save(9);
  EXPECT_TRUE(is_there(3));
  EXPECT_EQ(best_of_the_latest(), 3);
}

TEST_F(RunSaves, AMissingBestIsForgotten) {
  found_best(5, 1.0, 20.0);
  saves_.begin();
  EXPECT_EQ(state_.best_step, -1);
  EXPECT_TRUE(std::isinf(state_.best_loss));
  EXPECT_FALSE(state_.best_score);
}

TEST_F(RunSaves, NumbersGoUp) {
  save(30), save(10);
  EXPECT_EQ(latest_valid(directory_.checkpoints())->path(), run_.checkpoint(10));
  EXPECT_FALSE(is_there(30));
  const CheckpointManifest manifest = read_checkpoint_manifest(run_.checkpoint(10));
  EXPECT_EQ(manifest.sequence, 2);
  EXPECT_EQ(manifest.attempt, 0);
}

// Only the update changes the tensors that a save copies, so only the update waits for the copy.
TEST_F(RunSaves, TheUpdateWaitsForTheCopyOfWhatItChanges) {
  const Tensor& master = setup_.parameters().master().data;
  const std::vector<float> before(master.data<float>(), master.data<float>() + master.elements());
  const Tensor copy = context_.zeros(master.shape(), master.dtype());
  const std::span<std::byte> place(copy.raw(), copy.bytes());
  Snapshot snapshot(context_, {&master, 1}, {&place, 1});
  Loader loader = make_loader(job_, mesh_, context_, data_.plan, make_reader(data_.train));
  int64_t updates = 0;
  const StepReport report = setup_.step().run(*loader.next(), {.learning_rate = 1e-2}, updates, 0, {});
  EXPECT_GT(report.times.copy_wait, 0);
  snapshot.wait();
  EXPECT_TRUE(std::ranges::equal(copy.span<float>(), before));
  EXPECT_FALSE(std::ranges::equal(master.span<float>(), before));
}

// The next save waits for a save that is still under way, and both checkpoints are the same as in a slower run.
TEST(SlowSaves, ASaveMayTakeLongerThanTheStepsToTheNext) {
  const Scratch scratch;
  SmallRun run(scratch), slow(scratch, "slow");
  run.job().checkpoint.every_steps = slow.job().checkpoint.every_steps = 1;
  run.train();
  Context context(Device{}, 1);
  const std::thread::id owner = std::this_thread::get_id();
  context.on_progress([owner] {
    if (std::this_thread::get_id() != owner) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  slow.train_on(context);
  for (int64_t step = 1; step <= 8; ++step) {
    EXPECT_EQ(tensor_hashes(slow.checkpoint(step)), tensor_hashes(run.checkpoint(step))) << step;
  }
  const auto lines = read_metrics(slow.directory(), "save");
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_GT(lines[0]["stall_ms"].get<double>(), 0);
}

// A run returns to an earlier checkpoint with another learning rate, is killed on the new branch, and is started
// again as a scheduler would: it continues the branch.
TEST(Branch, ARunSentBackResumesItsBranch) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().train.max_steps = 12;
  run.job().checkpoint.keep_last = 1, run.job().checkpoint.keep_steps = {3};
  run.train();
  run.job().schedule.learning_rate = 2e-2;
  run.job().allow_changes = {"schedule.learning_rate"};
  const ResumeChoice back{.kind = ResumeChoice::Kind::Path, .path = run.checkpoint(3)};
  const auto killed = in_child([&] {
    run.train(back, {}, [&](int64_t) {
      if (fs::exists(run.checkpoint(6))) raise(SIGKILL);  // at step 10 at the latest: the save of step 9 commits it
    });
    return ChildResult::Passed;
  });
  EXPECT_EQ(killed, ChildResult::Failed);
  EXPECT_TRUE(fs::exists(run.checkpoint(12).string() + ".before-1")) << "the abandoned branch was not set aside";
  EXPECT_EQ(run.train().step, 12);
  EXPECT_EQ(read_metrics(run.directory(), "start").back()["step"], 6);

  SmallRun branch(scratch, "branch");
  const fs::path directory = branch.directory();
  branch.job() = run.job();
  branch.job().run_dir = directory.string();
  branch.train(back);
  EXPECT_EQ(tensor_hashes(run.checkpoint(12)), tensor_hashes(branch.checkpoint(12)));
  EXPECT_NE(tensor_hashes(run.checkpoint(12)), tensor_hashes(run.checkpoint(12).string() + ".before-1"));
}

TEST(Branch, EventSaveCarriesTheStepOfTheCheckpoint) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.train();
  std::vector<int64_t> steps;
  for (const auto& line : read_metrics(run.directory(), "save")) {
    steps.push_back(line["step"].get<int64_t>());
    EXPECT_EQ(line["path"].get<std::string>(), run.checkpoint(steps.back()).string());
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{3, 6, 8}));
}

}  // namespace
}  // namespace weft
