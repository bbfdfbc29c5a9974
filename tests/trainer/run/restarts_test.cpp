// SPDX-License-Identifier: Apache-2.0
// train.max_restarts ends a run that is restarted without progress, and train.max_time one that would overrun its time.
#include "trainer/run/restarts.h"

#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/trainer/fixture/small_run.h"
#include "trainer/run/time_limit.h"

namespace weft {
namespace {

using namespace test;

TEST(Restarts, RestartsWithoutProgressAreCountedAndThenRefused) {
  const Scratch scratch;
  for (int start = 0; start < 3; ++start) count_restart(scratch.path(), 30, false, 2);
  try {
    count_restart(scratch.path(), 30, false, 2);
    FAIL() << "a third restart at the same step";
  } catch (const NoProgressError& error) {
    EXPECT_EQ(static_cast<int>(error.code()), 7);
    EXPECT_NE(std::string(error.what()).find("2 restarts in a row saved no checkpoint later than step 30"),
              std::string::npos)
        << error.what();
    EXPECT_NE(error.hint().find("restarts.json"), std::string::npos);
  }
  EXPECT_THROW(count_restart(scratch.path(), 30, false, 2), NoProgressError) << "being refused is no progress";
  fs::remove(scratch / "restarts.json");
  count_restart(scratch.path(), 30, false, 2);
}

TEST(Restarts, ALaterCheckpointResetsTheCount) {
  const Scratch scratch;
  for (const int64_t step : {0, 0, 30, 30, 40, 40, 50}) count_restart(scratch.path(), step, false, 1);
}

// A checkpoint was damaged, and the run began at the one before it.
TEST(Restarts, AnEarlierCheckpointIsNoProgress) {
  const Scratch scratch;
  for (const int64_t step : {40, 30}) count_restart(scratch.path(), step, false, 1);
  EXPECT_THROW(count_restart(scratch.path(), 40, false, 1), NoProgressError);
  count_restart(scratch.path(), 41, false, 1);
  // Unless the start was told to begin there; but not again and again.
  for (int start = 0; start < 2; ++start) count_restart(scratch.path(), 30, true, 1);
  EXPECT_THROW(count_restart(scratch.path(), 30, true, 1), NoProgressError);
}

TEST(Restarts, AreNotCountedUnlessAsked) {
  const Scratch scratch;
  for (int start = 0; start < 20; ++start) count_restart(scratch.path(), 30, false, 0);
  EXPECT_FALSE(fs::exists(scratch / "restarts.json"));
  for (const char* text : {"", "{", "[]", R"({"step": "3", "restarts": 9})", R"({"step": 30})"}) {
    scratch.write("restarts.json", text);
    EXPECT_NO_THROW(count_restart(scratch.path(), 30, false, 1)) << text;
  }
}

// The run dies after step 7 each time. The checkpoint of step 3 is committed by then, since the save of step 6 waits
// for it; the checkpoint of step 6 is not.
TEST(Restarts, ARunThatDiesAtTheSameStepIsNotRestartedForever) {
  const Scratch scratch;
  SmallRun run(scratch);
  run.job().train.max_restarts = 1;
  const auto die = [](int64_t step) { require<DeviceError>(step != 7, "it broke"); };
  const auto start = [&] { return error_of([&] { run.train({}, {}, die); }); };
  EXPECT_EQ(start(), "it broke");  // begins at step 0
  EXPECT_EQ(start(), "it broke");  // begins at step 3, which is progress
  EXPECT_EQ(start(), "it broke");  // the one restart that is allowed
  EXPECT_THROW(run.train({}, {}, die), NoProgressError);
  EXPECT_NE(start().find("1 restarts in a row saved no checkpoint later than step 3"), std::string::npos);
  run.job().train.max_restarts = 2;
  EXPECT_EQ(run.train().step, 8);
  EXPECT_EQ(run.train().step, 8);  // a start with nothing left to do is not counted
}

TEST(TimeLimit, LeavesRoomForTwoStepsAndSaves) {
  double now = 0;
  TimeLimit limit(Duration{.seconds = 1000}, [&] { return now; });
  EXPECT_FALSE(limit.up());
  limit.stepped(20);
  limit.stepped(10);
  now = 839;  // a save that was never timed counts as a minute: 2 (20 + 60)
  EXPECT_FALSE(limit.up());
  now = 840;
  EXPECT_TRUE(limit.up());
  now = 500;
  limit.save_begun();
  now = 505;
  limit.save_committed();
  now = 949;
  EXPECT_FALSE(limit.up());
  now = 950;
  EXPECT_TRUE(limit.up());
  limit.save_committed();  // no save was begun
  EXPECT_TRUE(limit.up());
}

TEST(TimeLimit, NoLimitIsAllowed) {
  EXPECT_FALSE(TimeLimit({}, [] { return 1e12; }).up());
  TimeLimit brief(Duration{.seconds = 10}, [] { return 7.9; });
  EXPECT_FALSE(brief.up()) << "a save that was never timed counts as a tenth of a short limit";
}

}  // namespace
}  // namespace weft
