// SPDX-License-Identifier: Apache-2.0
#include "trainer/step/stragglers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "parallel/local/in_process.h"
#include "tests/model/fixture/model.h"
#include "trainer/step/training_step.h"

namespace weft {
namespace {

using namespace test;

TimesByRank window(std::vector<double> busy, std::vector<double> data) {
  return {.busy = std::move(busy), .data = std::move(data), .wait = {}};
}

TEST(Stragglers, SpreadIsLeastMiddleMost) {
  const Spread odd = spread_of({3, 1, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(spread_of({4, 1}).median, 1);
  EXPECT_EQ(spread_of({}).max, 0);
}

// The rank takes more than 1.2 times the median in three windows in a row, and is reported once.
TEST(Stragglers, ARankIsNamedAfterThreeSlowWindows) {
  StragglerWatch watch(0);
  const TimesByRank slow = window({1.0, 1.0, 1.3, 1.1}, {0, 0, 0, 0});
  EXPECT_TRUE(watch.add(slow).empty());
  EXPECT_TRUE(watch.add(slow).empty());
  const auto found = watch.add(slow);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 2);
  EXPECT_DOUBLE_EQ(found[0].times, 1.3);
  EXPECT_FALSE(found[0].by_data);
  EXPECT_TRUE(watch.add(slow).empty());
  watch.add(window({1, 1, 1, 1}, {0, 0, 0, 0}));  // the rank kept up once, so counting restarts
  EXPECT_TRUE(watch.add(slow).empty());
  EXPECT_TRUE(watch.add(slow).empty());
  EXPECT_EQ(watch.add(slow).size(), 1U);
}

TEST(Stragglers, AOneTimeDelayIsNoStraggler) {
  StragglerWatch watch(0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(watch.add(window({i % 3 == 0 ? 9.0 : 1.0, 1.0}, {0, 0})).empty());
  }
}

TEST(Stragglers, SlowDataIsSaidToBeThat) {
  StragglerWatch watch(0);
  const TimesByRank slow = window({1.0, 1.05}, {0.1, 0.9});
  watch.add(slow), watch.add(slow);
  const auto found = watch.add(slow);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_TRUE(found[0].by_data);
}

TEST(Stragglers, ShortTimesArePutTogether) {
  StragglerWatch watch(5);
  int reported = 0;
  for (int i = 1; i <= 30; ++i) {
    reported += !watch.add(window({0.4, 0.5}, {0, 0})).empty();  // 10 of these are a window of 5 s
    EXPECT_EQ(reported, i >= 30 ? 1 : 0) << i;
  }
}

TEST(Stragglers, EqualRanksAndOneRankAreQuiet) {
  StragglerWatch watch(0), alone(0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(watch.add(window({1, 1.15, 1.2}, {0, 0, 0})).empty());
    EXPECT_TRUE(alone.add(window({1}, {5})).empty());
  }
}

// Real steps of three ranks, one of which starts late each time: all take the same wall time, yet the values in the
// control all-reduce show which rank waited for data and which ranks waited for that rank.
TEST(Stragglers, LockstepDoesNotHideTheSlowRank) {
  constexpr double kReported = 10;  // seconds; the rank sleeps for less, so that the test is quick
  run_in_process({.dp = 3}, [&](Mesh& mesh, int rank) {
    Context context;
    const auto model = make_model(context, mesh, test::small_spec(false));
    model->allocate(Precision::Fp32, Purpose::Training);
    model->parameters().initialise(1);
    Optimizer optimizer(context, model->parameters(), {});
    TrainingStep step(*model, optimizer, {});
    StragglerWatch watch(0);
    std::vector<StragglerWatch::Straggler> found;
    TimesByRank all;
    int64_t updates = 0;
    for (int i = 0; i < StragglerWatch::kWindows; ++i) {
      MicroBatch micro;
      micro.input = {.tokens = {1, 2, 3}, .offsets = {0, 3}};
      micro.targets = {2, 3, 4}, micro.sequence_ids = {rank};
      StepBatches batches;
      batches.step_target_tokens = 9;
      batches.micro = {micro};
      if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));
      StepState state;
      const StepReport report = step.run(batches, state, updates, rank == 1 ? kReported : 0, {});
      const TimesByRank times = gather_times(mesh.world(), report.times);
      if (rank != 0) {
        EXPECT_TRUE(times.busy.empty());
        continue;
      }
      EXPECT_EQ(times.data, (std::vector<double>{0, kReported, 0}));
      for (int r = 0; r < 3; ++r) EXPECT_GT(times.busy[r], 0);
      found = watch.add(times);
      all.add(times);
    }
    if (rank != 0) return;
    for (const int other : {0, 2}) EXPECT_GT(all.wait[other], 0.1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].rank, 1);
    EXPECT_TRUE(found[0].by_data);
  });
}

}  // namespace
}  // namespace weft
