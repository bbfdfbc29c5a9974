// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "tests/data/batches/fixture.h"

namespace weft {
namespace {

using namespace test;

// Each token except the first is scored once, whatever the stride.
TEST(Evaluation, EveryTokenIsScoredOnceWithContext) {
  for (int64_t tokens : {2, 10, 64, 65, 66, 128, 129, 1000}) {
    for (int64_t stride : {0, 1, 5, 32, 63, 64}) {
      const auto plan = make_window_evaluation({.context_length = 64, .stride = stride, .step_tokens = 300}, tokens);
      std::vector<int> scored(tokens, 0);
      int64_t total = 0;
      for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
        const auto step = plan->step(0, s);
        total += step.target_tokens();
        for (const auto& w : step.sequences) {
          EXPECT_LE(w.input_tokens, 64);
          EXPECT_LE(w.index + w.input_tokens + 1, tokens);
          for (int32_t i = w.unscored; i < w.input_tokens; ++i) {
            ++scored[w.index + i + 1];
            const int64_t context = i + 1;
            EXPECT_GE(context, std::min<int64_t>(w.index + i + 1, 64 - (stride == 0 ? 64 : stride) + 1));
          }
        }
      }
      EXPECT_EQ(scored[0], 0);
      for (int64_t t = 1; t < tokens; ++t)
        EXPECT_EQ(scored[t], 1) << "token " << t << " of " << tokens << ", " << stride;
      EXPECT_EQ(total, tokens - 1);
    }
  }
}

TEST(Evaluation, PairsComeOnceInOrder) {
  const auto plan = make_pair_evaluation({.step_tokens = 200}, ragged_lengths(103));
  const auto seen = epoch_indices(*plan, 0);
  ASSERT_EQ(seen.size(), 103u);
  for (int64_t i = 0; i < 103; ++i) EXPECT_EQ(seen[i], i);
  EXPECT_GT(plan->steps_per_epoch(0), 20);
  const int64_t most = plan->step(0, plan->largest_step(0)).tokens();
  for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) EXPECT_LE(plan->step(0, s).tokens(), most);
  EXPECT_LE(most, 200);
}

TEST(Evaluation, PairsThatDoNotFitAreLeftOut) {
  const PairLengths lengths{.source = {4, 0, 9, 5, 8}, .target = {5, 5, 5, 10, 9}};
  const auto some = make_pair_evaluation({.max_length = 8}, lengths);
  EXPECT_EQ(epoch_indices(*some, 0), (std::vector<int64_t>{0, 4})) << "no source, 9 source tokens, 9 inputs";
  EXPECT_EQ(some->sequences_per_epoch(), 2);
  EXPECT_EQ(epoch_indices(*make_pair_evaluation({}, lengths), 0), (std::vector<int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(epoch_indices(*make_pair_evaluation({.max_sequences = 4, .max_length = 8}, lengths), 0),
            (std::vector<int64_t>{0}));
  EXPECT_THROW(make_pair_evaluation({.max_length = 3}, lengths), DataError);
  const PairLengths joined{.source = {4, 4}, .target = {5, 6}, .joined = true};
  EXPECT_EQ(epoch_indices(*make_pair_evaluation({.max_length = 8}, joined), 0), (std::vector<int64_t>{0}));
}

TEST(Evaluation, MayBeLimited) {
  EXPECT_EQ(epoch_indices(*make_pair_evaluation({.max_sequences = 7}, ragged_lengths(103)), 0).size(), 7u);
  EXPECT_EQ(epoch_indices(*make_window_evaluation({.context_length = 8, .max_sequences = 3}, 100), 0).size(), 3u);
  EXPECT_EQ(epoch_indices(*make_window_evaluation({.context_length = 8, .max_sequences = 99}, 100), 0).size(), 13u);
}

TEST(Evaluation, RefusesWhatMakesNoSense) {
  EXPECT_THROW(make_window_evaluation({.context_length = 0}, 100), ConfigError);
  EXPECT_THROW(make_window_evaluation({.context_length = 8, .stride = 9}, 100), ConfigError);
  EXPECT_THROW(make_window_evaluation({.context_length = 8}, 1), DataError);
}

}  // namespace
}  // namespace weft
