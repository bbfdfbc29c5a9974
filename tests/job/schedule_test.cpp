// SPDX-License-Identifier: Apache-2.0
#include "job/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

TEST(Schedule, ConstantAfterALinearRise) {
  const ScheduleConfig s{.kind = ScheduleKind::Constant, .learning_rate = 0.4, .warmup_steps = 3};
  // 0.4 x (1, 2, 3) / 4, then 0.4
  EXPECT_NEAR(learning_rate(s, 0, 10), 0.1, 1e-15);
  EXPECT_NEAR(learning_rate(s, 1, 10), 0.2, 1e-15);
  EXPECT_NEAR(learning_rate(s, 2, 10), 0.3, 1e-15);
  EXPECT_EQ(learning_rate(s, 3, 10), 0.4);
  EXPECT_EQ(learning_rate(s, 1000, 10), 0.4);
  EXPECT_EQ(learning_rate({.kind = ScheduleKind::Constant, .learning_rate = 0.4}, 0, 10), 0.4);
}

// The recipe of nanoGPT's character model: 1e-3 to 1e-4 over 2,000 steps, warm-up 100.
TEST(Schedule, CosineOfTheCharacterModel) {
  const ScheduleConfig s{
      .kind = ScheduleKind::Cosine, .learning_rate = 1e-3, .warmup_steps = 100, .final_learning_rate = 1e-4};
  EXPECT_NEAR(learning_rate(s, 0, 2000), 1e-3 / 101, 1e-15);
  EXPECT_NEAR(learning_rate(s, 99, 2000), 1e-3 * 100 / 101, 1e-15);
  EXPECT_NEAR(learning_rate(s, 100, 2000), 1e-3, 1e-15);
  EXPECT_NEAR(learning_rate(s, 1050, 2000), 5.5e-4, 1e-15);  // half-way: the mean of both ends
  // a third of the way: 1e-4 + 9e-4 (1 + cos 60 degrees) / 2 = 1e-4 + 9e-4 x 0.75
  EXPECT_NEAR(
      learning_rate({.kind = ScheduleKind::Cosine, .learning_rate = 1e-3, .final_learning_rate = 1e-4}, 100, 300),
      7.75e-4, 1e-15);
  EXPECT_NEAR(learning_rate(s, 2000, 2000), 1e-4, 1e-15);
  EXPECT_NEAR(learning_rate(s, 5000, 2000), 1e-4, 1e-15);
}

TEST(Schedule, DecayMayEndBeforeTheRun) {
  const ScheduleConfig s{
      .kind = ScheduleKind::Cosine, .learning_rate = 2, .final_learning_rate = 1, .decay_end_step = 10};
  EXPECT_NEAR(learning_rate(s, 5, 1000), 1.5, 1e-15);
  EXPECT_EQ(learning_rate(s, 10, 1000), 1.0);
  EXPECT_EQ(learning_rate(s, 999, 1000), 1.0);
}

TEST(Schedule, Linear) {
  const ScheduleConfig s{
      .kind = ScheduleKind::Linear, .learning_rate = 1, .warmup_steps = 2, .final_learning_rate = 0.2};
  EXPECT_EQ(learning_rate(s, 2, 10), 1.0);
  EXPECT_NEAR(learning_rate(s, 4, 10), 0.8, 1e-15);  // a quarter of 8 steps
  EXPECT_NEAR(learning_rate(s, 9, 10), 0.3, 1e-15);
  EXPECT_NEAR(learning_rate(s, 10, 10), 0.2, 1e-15);
}

// Transformer-Tiny on Multi30k: 5e-3, warm-up 2,000 from 1e-7.
TEST(Schedule, InverseSqrt) {
  const ScheduleConfig s{
      .kind = ScheduleKind::InverseSqrt, .learning_rate = 5e-3, .warmup_steps = 2000, .initial_learning_rate = 1e-7};
  EXPECT_EQ(learning_rate(s, 0, 8000), 1e-7);
  EXPECT_NEAR(learning_rate(s, 1000, 8000), (5e-3 + 1e-7) / 2, 1e-15);
  EXPECT_EQ(learning_rate(s, 2000, 8000), 5e-3);
  EXPECT_NEAR(learning_rate(s, 8000, 8000), 2.5e-3, 1e-15);
  EXPECT_NEAR(learning_rate(s, 50000, 8000), 1e-3, 1e-15);
  const ScheduleConfig floor{.kind = ScheduleKind::InverseSqrt, .learning_rate = 1, .final_learning_rate = 0.25};
  EXPECT_EQ(learning_rate(floor, 0, 10), 1.0);
  EXPECT_EQ(learning_rate(floor, 4, 10), 0.5);
  EXPECT_EQ(learning_rate(floor, 100, 10), 0.25);
}

TEST(Schedule, WarmupStableDecay) {
  const ScheduleConfig s{.kind = ScheduleKind::WarmupStableDecay,
                         .learning_rate = 1,
                         .warmup_steps = 4,
                         .final_learning_rate = 0,
                         .cooldown_steps = 5};
  EXPECT_NEAR(learning_rate(s, 1, 20), 0.4, 1e-15);
  EXPECT_EQ(learning_rate(s, 4, 20), 1.0);
  EXPECT_EQ(learning_rate(s, 15, 20), 1.0);
  EXPECT_NEAR(learning_rate(s, 16, 20), 0.8, 1e-15);
  EXPECT_NEAR(learning_rate(s, 19, 20), 0.2, 1e-15);
  EXPECT_EQ(learning_rate(s, 20, 20), 0.0);
}

TEST(Schedule, EveryKindIsFiniteAndWithinItsEnds) {
  for (const auto& [name, kind] : EnumNames<ScheduleKind>::kNames) {
    for (const int64_t warmup_steps : {0, 1, 7, 50}) {
      const ScheduleConfig s{.kind = kind,
                             .learning_rate = 1,
                             .warmup_steps = warmup_steps,
                             .final_learning_rate = 0.1,
                             .cooldown_steps = 10};
      for (int64_t step = 0; step < 60; ++step) {
        const double rate = learning_rate(s, step, 50);
        EXPECT_TRUE(std::isfinite(rate) && rate > 0 && rate <= 1) << name << " " << warmup_steps << " " << step;
      }
    }
  }
}

TEST(Schedule, ContradictionsAreNamed) {
  const auto first = [](const ScheduleConfig& s, int64_t max_steps = 100) {
    const auto problems = schedule_problems(s, max_steps);
    return problems.empty() ? std::string("none") : problems[0];
  };
  EXPECT_EQ(first({}), "none");
  EXPECT_EQ(first({.warmup_steps = 101}),
            "schedule.warmup_steps: 101 steps do not fit the 100 of train.max_steps; lower it");
  EXPECT_EQ(first({.warmup_steps = 101}, 0), "none");
  EXPECT_NE(first({.initial_learning_rate = 1e-4}).find("needs schedule.warmup_steps"), std::string::npos);
  EXPECT_NE(first({.warmup_steps = 1, .initial_learning_rate = 1}).find("schedule.initial_learning_rate: 1 is above"),
            std::string::npos);
  EXPECT_NE(first({.final_learning_rate = 1}).find("schedule.final_learning_rate: 1 is above"), std::string::npos);
  EXPECT_NE(first({.kind = ScheduleKind::Constant, .final_learning_rate = 1e-4}).find("a constant schedule has none"),
            std::string::npos);
  EXPECT_NE(first({.kind = ScheduleKind::InverseSqrt, .decay_end_step = 3}).find("inverse_sqrt has no end"),
            std::string::npos);
  EXPECT_NE(first({.warmup_steps = 10, .decay_end_step = 9}).find("lies within the 10 steps"), std::string::npos);
  EXPECT_NE(first({.kind = ScheduleKind::WarmupStableDecay}).find("wsd needs"), std::string::npos);
  EXPECT_NE(first({.cooldown_steps = 9}).find("only wsd reads it, not cosine"), std::string::npos);
  EXPECT_NE(
      first({.kind = ScheduleKind::WarmupStableDecay, .warmup_steps = 60, .cooldown_steps = 60}).find("do not fit 100"),
      std::string::npos);
}

}  // namespace
}  // namespace weft
