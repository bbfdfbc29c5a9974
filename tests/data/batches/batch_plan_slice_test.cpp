// SPDX-License-Identifier: Apache-2.0
#include "data/batches/batch_plan_slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/divide_up.h"
#include "base/error.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "tests/data/batches/fixture.h"

namespace weft {
namespace {

using namespace test;

TEST(Slices, AreBalanced) {
  const auto plan =
      make_pair_plan({.tokens = 4096, .order = BatchOrder::Bucketed, .buckets_per_step = 2}, ragged_lengths(1003), 1);
  for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
    const auto step = plan->step(0, s);
    int64_t total = 0, dearest = 0;
    for (const auto& p : step.sequences) {
      total += sequence_cost(p);
      dearest = std::max(dearest, sequence_cost(p));
    }
    for (int64_t dp : {2, 3, 4, 8}) {
      for (const auto& slice : slice_all(step, dp)) {
        int64_t cost = 0;
        for (int64_t place : slice) cost += sequence_cost(step.sequences[place]);
        EXPECT_LT(cost, total / dp + dearest);
        // With many sequences, a slice costs at most 3 % more than an even share.
        const bool many = static_cast<int64_t>(step.sequences.size()) >= 16 * dp;
        if (many) {
          EXPECT_LT(cost, 1.03 * total / dp + 1);
        }
      }
    }
  }
}

TEST(Slices, SlicesOfEqualWindowsDifferByOneAtMost) {
  const auto step = make_window_plan({.sequences = 13, .context_length = 8}, 1000, 1)->step(0, 0);
  for (int64_t dp : {1, 2, 3, 4, 8, 13, 20}) {
    size_t least = 100, most = 0;
    for (const auto& slice : slice_all(step, dp)) {
      least = std::min(least, slice.size());
      most = std::max(most, slice.size());
    }
    EXPECT_LE(most - least, 1u) << dp;
  }
  EXPECT_THROW(slice_all(step, 0), InternalError);
}

// The replicas are more than the sequences, fewer, and as many.
TEST(Slices, TogetherAreAllPlacesOnce) {
  const auto step = make_pair_plan({.sequences = 300}, ragged_lengths(1003), 1)->step(0, 0);
  for (int64_t dp : {1, 2, 7, 299, 300, 301, 1024}) {
    std::vector<int64_t> places;
    const auto slices = slice_all(step, dp);
    ASSERT_EQ(slices.size(), static_cast<size_t>(dp));
    for (const auto& slice : slices) places.insert(places.end(), slice.begin(), slice.end());
    std::vector<int64_t> all(step.sequences.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted(places), all) << dp;
  }
}

TEST(MicroBatches, CoverTheSliceWithinTheLimit) {
  const auto step = make_pair_plan({.sequences = 300}, ragged_lengths(1003), 1)->step(0, 0);
  const auto slice = slice_all(step, 3)[1];
  int64_t slice_tokens = 0;
  for (int64_t place : slice) slice_tokens += step.sequences[place].tokens();
  for (int64_t limit : {1, 50, 200, 1000, 100000}) {
    const auto parts = cut_micro_batches(step, slice, limit);
    std::vector<int64_t> places;
    for (const auto& part : parts) {
      ASSERT_FALSE(part.empty());
      int64_t rows = 0;
      for (int64_t place : part) rows += step.sequences[place].tokens();
      EXPECT_TRUE(rows <= limit || part.size() == 1) << rows;
      places.insert(places.end(), part.begin(), part.end());
    }
    EXPECT_EQ(sorted(places), slice) << limit;
    if (limit >= 200) {
      EXPECT_LE(static_cast<int64_t>(parts.size()), divide_up(slice_tokens, limit) * 5 / 4 + 1);
    }
  }
  EXPECT_EQ(cut_micro_batches(step, slice, 0).size(), 1u);
  EXPECT_TRUE(cut_micro_batches(step, {}, 100).empty());
}

TEST(MicroBatches, AreCountedAsTheyAreCut) {
  const auto pairs = make_pair_plan({.sequences = 300}, ragged_lengths(1003), 1)->step(0, 0);
  const auto windows = make_window_plan({.sequences = 65, .context_length = 7}, 40000, 1)->step(0, 0);
  for (const PlannedStep* step : {&pairs, &windows}) {
    for (int64_t dp : {1, 4, 9, 400}) {
      for (const auto& slice : slice_all(*step, dp)) {
        for (int64_t limit : {0, 1, 7, 20, 50, 1000}) {
          EXPECT_EQ(count_micro_batches(*step, slice, limit),
                    static_cast<int64_t>(cut_micro_batches(*step, slice, limit).size()))
              << slice.size() << " sequences, limit " << limit;
        }
      }
    }
  }
}

TEST(MicroBatches, EqualWindowsTakeTheFewestMicroBatches) {
  const auto step = make_window_plan({.sequences = 4096, .context_length = 7}, 40000, 1)->step(0, 0);
  std::vector<int64_t> slice(4096);
  std::iota(slice.begin(), slice.end(), 0);
  EXPECT_EQ(cut_micro_batches(step, slice, 10).size(), 4096u);
  EXPECT_EQ(cut_micro_batches(step, slice, 20).size(), 2048u);
  EXPECT_EQ(cut_micro_batches(step, slice, 7 * 1000).size(), 5u);
}

}  // namespace
}  // namespace weft
