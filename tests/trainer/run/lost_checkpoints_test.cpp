// SPDX-License-Identifier: Apache-2.0
// The same command continues where the run was, also a command that named a checkpoint to begin at; and a run whose
// checkpoints are gone does not begin again by itself.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/log.h"
#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/run_file.h"

namespace weft {
namespace {

using namespace test;

using testing::AllOf;
using testing::HasSubstr;

struct LostCheckpoints : testing::Test {
  std::string train(const ResumeChoice& choice = {}, int64_t dies_after = 0) {
    const auto die = [&](int64_t step) { require<DeviceError>(step != dies_after, "it broke"); };
    return error_of([&] { run.train(choice, {}, die); });
  }
  ResumeChoice at(int64_t step) const { return {.kind = ResumeChoice::Kind::Path, .path = run.checkpoint(step)}; }
  int64_t began() const { return read_metrics(run.directory(), "start").back()["step"].get<int64_t>(); }
  bool is_there(int64_t step) const { return fs::exists(run.checkpoint(step)); }

  const Scratch scratch;
  SmallRun run{scratch};
};

TEST_F(LostCheckpoints, ACommandThatNamesACheckpointContinuesFromWhatItHasSaved) {
  run.job().train.max_steps = 14;
  EXPECT_EQ(train(), "no error");
  EXPECT_EQ(train(at(3), 10), "it broke");  // the save of step 9 was under way, and waited for that of step 6
  EXPECT_EQ(began(), 3);
  EXPECT_TRUE(fs::exists(run.checkpoint(12).string() + ".before-1"));
  EXPECT_EQ(train(at(3), 13), "it broke");
  EXPECT_GE(began(), 6);
  EXPECT_EQ(train(at(3)), "no error");
  EXPECT_GE(began(), 9);
  for (const int64_t step : {6, 9}) {
    EXPECT_FALSE(fs::exists(run.checkpoint(step).string() + ".before-2")) << "its own work is set aside";
  }
  EXPECT_EQ(train(at(3)), "no error");  // and it is done
  EXPECT_EQ(read_checkpoint_manifest(run.checkpoint(14)).step, 14);
}

// The command may come again before the branch has saved anything.
TEST_F(LostCheckpoints, RetentionKeepsTheCheckpointThatTheCommandNames) {
  EXPECT_EQ(train(), "no error");
  run.job().checkpoint.keep_last = 1;
  EXPECT_EQ(train(at(3)), "no error");
  EXPECT_TRUE(is_there(3));
  EXPECT_FALSE(is_there(6));
  run.job().train.max_steps = 12, run.job().allow_changes = {"train.max_steps"};
  EXPECT_EQ(train(), "no error");
  EXPECT_FALSE(is_there(3)) << "nobody names it now";
}

TEST_F(LostCheckpoints, ADamagedOneOfTheBranchIsPassedOver) {
  EXPECT_EQ(train(), "no error");
  EXPECT_EQ(train(at(3)), "no error");
  write_file_atomically(run.checkpoint(8) / "manifest.json", "{");
  EXPECT_EQ(train(at(3)), "no error");
  EXPECT_EQ(began(), 6);
}

TEST_F(LostCheckpoints, ABranchOfWhichNothingIsIntactBeginsWhereItWasTold) {
  EXPECT_EQ(train(), "no error");
  EXPECT_EQ(train(at(3)), "no error");
  for (const int64_t step : {6, 8}) {
    const CheckpointManifest manifest = read_checkpoint_manifest(run.checkpoint(step));
    const auto index = read_index(run.checkpoint(step), manifest.files.at(0));
    flip_bits(run.checkpoint(step) / manifest.files[0].name, index->arrays.at(0).offset, 4);
  }
  EXPECT_EQ(train(at(3)), "no error");
  EXPECT_EQ(began(), 3);
  EXPECT_EQ(last_save(run.directory())->step, 8);
}

TEST_F(LostCheckpoints, ARunThatIsToldToBeginFromScratchDoes) {
  EXPECT_EQ(train(), "no error");
  fs::remove_all(run.directory() / "checkpoints");
  EXPECT_EQ(train({.kind = ResumeChoice::Kind::Never}, 2), "it broke");
  EXPECT_EQ(began(), 0);
  EXPECT_EQ(train(), "no error");  // nothing of the new run is missing
  EXPECT_EQ(began(), 0);
}

TEST_F(LostCheckpoints, ARunWhoseCheckpointsAreGoneDoesNotBeginAgain) {
  EXPECT_EQ(train(), "no error");
  EXPECT_EQ(last_save(run.directory())->step, 8);
  fs::rename(run.directory() / "checkpoints", scratch / "elsewhere");
  EXPECT_THAT(train(), AllOf(HasSubstr("has saved step 8, and that checkpoint is not there, nor is any other"),
                             HasSubstr("is a file system not mounted?")));
  EXPECT_FALSE(is_there(3));
  fs::rename(scratch / "elsewhere", run.directory() / "checkpoints");
  EXPECT_EQ(train(), "no error");
}

TEST_F(LostCheckpoints, NorFromAnEarlierOneUnlessTold) {
  EXPECT_EQ(train(), "no error");
  fs::remove(run.checkpoint(8) / "manifest.json");
  EXPECT_THAT(train(), AllOf(HasSubstr("has saved step 8, and that checkpoint is not there: the newest is "),
                             HasSubstr("--resume " + run.checkpoint(6).string())));
  EXPECT_EQ(train(at(6)), "no error");
  EXPECT_EQ(began(), 6);
  EXPECT_EQ(last_save(run.directory())->step, 8);
}

TEST_F(LostCheckpoints, MustIsRefusedWhereNoRunHasBegun) {
  const ResumeChoice must{.kind = ResumeChoice::Kind::Must};
  EXPECT_THAT(train(must), AllOf(HasSubstr("is no run that has begun"), HasSubstr("--resume auto")));
  EXPECT_EQ(train({}, 2), "it broke");
  EXPECT_EQ(train(must, 7), "it broke");  // it had begun, and saved nothing
  EXPECT_EQ(began(), 0);
  EXPECT_EQ(train(must), "no error");
  EXPECT_GE(began(), 3);  // the save of step 6 had waited for that of step 3, and may be complete itself
}

TEST_F(LostCheckpoints, ADamagedRunFileIsNotTakenForNothingSaved) {
  EXPECT_EQ(train(), "no error");
  for (const char* text : {"{", "[]", R"({"saved": 3})", R"({"saved": {"step": "8", "sequence": 1}})"}) {
    write_file_atomically(run.directory() / "run.json", text);
    EXPECT_THAT(train(), HasSubstr("run.json")) << text;
  }
}

}  // namespace
}  // namespace weft
