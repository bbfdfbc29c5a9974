// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "base/config/writer.h"
#include "base/error.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_slice.h"
#include "data/batches/batch_plan_windows.h"
#include "tests/data/batches/fixture.h"

namespace weft {
namespace {

using namespace test;

using Plan = std::shared_ptr<const BatchPlan>;

struct NamedPlan {
  std::string name;
  std::function<Plan(uint64_t seed)> make;
};

// Every way of making steps in which each sequence comes once an epoch.
std::vector<NamedPlan> once_an_epoch() {
  using C = BatchConfig;
  const auto windows = [](C config) { return [=](uint64_t seed) { return make_window_plan(config, 10007, seed); }; };
  const auto pairs = [](C config) {
    return [=](uint64_t seed) { return make_pair_plan(config, ragged_lengths(1003), seed); };
  };
  const auto bucketed = BatchOrder::Bucketed;
  return {
      {"windows", windows({.sequences = 12, .context_length = 64})},
      {"windows_fixed", windows({.sequences = 12, .context_length = 64, .shift_windows = false})},
      {"windows_tokens", windows({.tokens = 512, .context_length = 64})},
      {"windows_few", windows({.sequences = 2, .context_length = 64})},
      {"pairs", pairs({.sequences = 16})},
      {"pairs_one", pairs({.sequences = 1})},
      {"pairs_tokens", pairs({.tokens = 500})},
      {"bucketed", pairs({.sequences = 16, .order = bucketed})},
      {"bucketed_target", pairs({.tokens = 500, .order = bucketed})},
      {"bucketed_total", pairs({.tokens = 900, .token_count = TokenCount::Total, .order = bucketed})},
      {"bucketed_padded",
       pairs({.tokens = 500, .token_count = TokenCount::Padded, .order = bucketed, .buckets_per_step = 2})},
      {"bucketed_groups", pairs({.sequences = 15, .order = bucketed, .buckets_per_step = 3})},
  };
}

// The sequences that ranks 0 .. dp - 1 take from a step, each rank with its own copy of the plan.
std::vector<int64_t> taken(const std::vector<Plan>& plans, Position at) {
  std::vector<int64_t> result;
  const auto dp = static_cast<int64_t>(plans.size());
  for (int64_t rank = 0; rank < dp; ++rank) {
    const PlannedStep step = plans[rank]->step(at.epoch, at.step);
    const auto slice = slice_all(step, dp)[rank];
    for (int64_t place : slice) result.push_back(step.sequences[place].index);
  }
  return result;
}

std::vector<Plan> one_a_rank(const NamedPlan& plan, int64_t dp) {
  std::vector<Plan> plans;
  for (int64_t rank = 0; rank < dp; ++rank) plans.push_back(plan.make(1));
  return plans;
}

TEST(BatchPlan, EverySequenceOnceAnEpochOnAnyNumberOfRanks) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    const auto whole = sorted(epoch_indices(*plan, 0));
    EXPECT_EQ(static_cast<int64_t>(whole.size()), plan->sequences_per_epoch()) << named.name;
    EXPECT_EQ(std::set<int64_t>(whole.begin(), whole.end()).size(), whole.size()) << named.name << ": one came twice";
    for (int64_t dp : {1, 2, 3, 4, 8}) {
      const auto plans = one_a_rank(named, dp);
      std::vector<int64_t> seen;
      for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
        const auto step = taken(plans, {0, s});
        EXPECT_EQ(sorted(step), sorted(indices(plan->step(0, s)))) << named.name << " dp " << dp << " step " << s;
        seen.insert(seen.end(), step.begin(), step.end());
      }
      EXPECT_EQ(sorted(seen), whole) << named.name << " dp " << dp;
    }
  }
}

TEST(BatchPlan, EpochsAndSeedsDifferInOrder) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    EXPECT_NE(epoch_indices(*plan, 0), epoch_indices(*plan, 1)) << named.name;
    EXPECT_NE(epoch_indices(*plan, 0), epoch_indices(*named.make(2), 0)) << named.name;
    EXPECT_EQ(epoch_indices(*plan, 3), epoch_indices(*named.make(1), 3)) << named.name;
  }
}

// After a resume on another number of ranks, the run takes exactly the sequences that remain.
TEST(BatchPlan, ResumeOnOtherRanksTakesExactlyWhatRemains) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    const int64_t boundary = plan->steps_per_epoch(0);
    for (int64_t done : {boundary - 1, boundary, boundary + 1}) {
      const Position stop = done < boundary ? Position{0, done} : Position{1, done - boundary};
      std::vector<int64_t> seen;
      Position at;
      for (const auto plans = one_a_rank(named, 2); at != stop; at = plans[0]->after(at)) {
        const auto step = taken(plans, at);
        seen.insert(seen.end(), step.begin(), step.end());
      }
      // A saved position may also be the end of epoch 0.
      const auto plans = one_a_rank(named, 3);
      at = plans[0]->normalised(done == boundary ? Position{0, boundary} : stop);
      EXPECT_EQ(at, stop);
      for (; at.epoch < 2; at = plans[0]->after(at)) {
        const auto step = taken(plans, at);
        seen.insert(seen.end(), step.begin(), step.end());
      }
      auto straight = epoch_indices(*plan, 0);
      const auto second = epoch_indices(*plan, 1);
      straight.insert(straight.end(), second.begin(), second.end());
      EXPECT_EQ(sorted(seen), sorted(straight)) << named.name << " after " << done << " steps";
    }
  }
}

TEST(BatchPlan, SeeksAnywhereInTenBillionTokensAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = make_window_plan({.tokens = 524288, .context_length = 1024}, 10'000'000'000, 7);
  EXPECT_EQ(plan->steps_per_epoch(0), 19074);
  const auto step = plan->step(2, 19000);
  EXPECT_EQ(step.sequences.size(), 512u);
  for (const auto& s : step.sequences) EXPECT_LE(s.index + 1025, 10'000'000'000);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 1.0);
}

TEST(BatchPlan, AStepOutsideTheEpochIsRefused) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    EXPECT_THROW(plan->step(0, -1), InternalError);
    EXPECT_THROW(plan->step(0, plan->steps_per_epoch(0)), InternalError);
    EXPECT_THROW(plan->normalised({0, plan->steps_per_epoch(0) + 1}), InternalError);
  }
}

// A checkpoint holds a position and no order: a run that resumes under a later version must find the same steps there.
// The values were printed by this code, and are kept so that a change of order is noticed.
TEST(BatchPlan, OrderIsTheSameAcrossVersions) {
  const std::map<std::string, std::vector<int64_t>> kept = {
      {"windows", {4785, 2545, 5297, 4337, 6641, 5425}},
      {"pairs", {668, 940, 725, 119, 162, 710}},
      {"bucketed", {526, 314, 274, 399, 285, 538}},
      {"bucketed_padded", {333, 223, 132, 710, 750, 540}},
  };
  for (const NamedPlan& named : once_an_epoch()) {
    const auto expected = kept.find(named.name);
    if (expected == kept.end()) continue;
    auto first = indices(named.make(1)->step(2, 3));
    first.resize(6);
    EXPECT_EQ(first, expected->second) << named.name;
  }
  const auto random = make_window_plan({.sequences = 6, .order = BatchOrder::Random, .context_length = 64}, 10007, 1);
  EXPECT_EQ(indices(random->step(2, 3)), (std::vector<int64_t>{4212, 500, 9788, 5967, 695, 5984}));
}

// steps_per_epoch() may count without sorting: step() must allow this number of steps, and every epoch must be whole.
TEST(BatchPlan, StepsOfLaterEpochsAreCountedRight) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    for (int64_t epoch = 1; epoch < 20; ++epoch) {
      EXPECT_EQ(static_cast<int64_t>(epoch_indices(*plan, epoch).size()), plan->sequences_per_epoch()) << named.name;
      EXPECT_THROW(plan->step(epoch, plan->steps_per_epoch(epoch)), InternalError) << named.name;
    }
  }
}

TEST(WindowPlan, WindowsDoNotOverlapAndStayInside) {
  for (int64_t tokens : {65, 66, 127, 128, 129, 130, 10007}) {
    for (bool shift : {false, true}) {
      const auto plan = make_window_plan({.sequences = 3, .context_length = 64, .shift_windows = shift}, tokens, 1);
      for (int64_t epoch : {0, 1, 5}) {
        const auto begins = sorted(epoch_indices(*plan, epoch));
        EXPECT_GE(begins.front(), 0);
        EXPECT_LT(begins.front(), shift ? 64 : 1);
        EXPECT_LE(begins.back() + 65, tokens);
        for (size_t i = 1; i < begins.size(); ++i) EXPECT_EQ(begins[i] - begins[i - 1], 64);
      }
      EXPECT_EQ(plan->sequences_per_epoch(), shift ? std::max<int64_t>(1, (tokens - 64) / 64) : (tokens - 1) / 64);
    }
  }
}

TEST(WindowPlan, ShiftedEpochsBeginAtManyOffsets) {
  const auto plan = make_window_plan({.sequences = 10, .context_length = 64}, 10007, 1);
  std::set<int64_t> offsets;
  for (int64_t epoch = 0; epoch < 400; ++epoch) offsets.insert(sorted(epoch_indices(*plan, epoch)).front());
  EXPECT_GT(offsets.size(), 58u);
}

TEST(WindowPlan, DropLeavesOutWhatDoesNotFillAStep) {
  const BatchConfig keep{.sequences = 10, .context_length = 64, .shift_windows = false};
  BatchConfig drop = keep;
  drop.drop_last = true;
  EXPECT_EQ(make_window_plan(keep, 64 * 25 + 1, 1)->steps_per_epoch(0), 3);
  const auto plan = make_window_plan(drop, 64 * 25 + 1, 1);
  EXPECT_EQ(plan->steps_per_epoch(0), 2);
  for (int64_t s = 0; s < 2; ++s) EXPECT_EQ(plan->step(0, s).sequences.size(), 10u);
  EXPECT_NE(sorted(epoch_indices(*plan, 0)), sorted(epoch_indices(*plan, 1)));  // epochs leave out different windows
  EXPECT_THROW(make_window_plan(drop, 64 * 9 + 1, 1), DataError);
}

TEST(WindowPlan, RandomWindowsReachEveryPlaceAndStepsAreFull) {
  const auto plan = make_window_plan({.sequences = 12, .order = BatchOrder::Random, .context_length = 8}, 40,
                                     1);  // 32 places at which a window may begin
  EXPECT_EQ(plan->steps_per_epoch(0), 1);
  std::map<int64_t, int> begins;
  for (int64_t epoch = 0; epoch < 800; ++epoch) {
    const auto step = plan->step(epoch, 0);
    ASSERT_EQ(step.sequences.size(), 12u);
    for (const auto& s : step.sequences) ++begins[s.index];
  }
  EXPECT_EQ(begins.size(), 32u);
  EXPECT_EQ(begins.begin()->first, 0);
  EXPECT_EQ(begins.rbegin()->first, 31);
  for (const auto& [begin, count] : begins) EXPECT_NEAR(count, 300, 90) << begin;
}

TEST(WindowPlan, AShortStreamIsNamed) {
  try {
    make_window_plan({.sequences = 1, .context_length = 64}, 64, 1);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the stream has 64 tokens; one window of 64 inputs needs 65");
  }
  EXPECT_EQ(make_window_plan({.sequences = 1, .context_length = 64}, 65, 1)->steps_per_epoch(0), 1);
}

TEST(PairPlan, GroupsHoldSimilarLengthsWithinTheBudget) {
  const auto lengths = ragged_lengths(1003);
  for (TokenCount count : {TokenCount::Target, TokenCount::Total, TokenCount::Padded}) {
    const auto plan = make_pair_plan({.tokens = 600, .token_count = count, .order = BatchOrder::Bucketed}, lengths, 1);
    int64_t spread = 0, used = 0;
    for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
      const auto step = plan->step(0, s);
      int32_t shortest = 1000, longest = 0, longest_either = 0;
      for (const auto& p : step.sequences) {
        EXPECT_EQ(p.source_tokens, lengths.source[p.index]);
        EXPECT_EQ(p.input_tokens, lengths.target[p.index] - 1);
        shortest = std::min(shortest, p.input_tokens);
        longest = std::max(longest, p.input_tokens);
        longest_either = std::max({longest_either, p.input_tokens, p.source_tokens});
      }
      const int64_t size = count == TokenCount::Target  ? step.target_tokens()
                           : count == TokenCount::Total ? step.tokens()
                                                        : longest_either * static_cast<int64_t>(step.sequences.size());
      EXPECT_LE(size, 600);
      spread = std::max<int64_t>(spread, longest - shortest);
      used += size;
    }
    EXPECT_LE(spread, 8) << enum_name(count);
    EXPECT_GT(used, 0.85 * 600 * plan->steps_per_epoch(0)) << enum_name(count);
  }
}

TEST(PairPlan, AStepOfSeveralGroupsMixesLengths) {
  const auto plan =
      make_pair_plan({.tokens = 1200, .order = BatchOrder::Bucketed, .buckets_per_step = 4}, ragged_lengths(1003), 1);
  int mixed = 0;
  for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
    const auto step = plan->step(0, s);
    EXPECT_LE(step.target_tokens(), 1200);
    const auto [low, high] = std::minmax_element(step.sequences.begin(), step.sequences.end(),
                                                 [](auto& a, auto& b) { return a.input_tokens < b.input_tokens; });
    mixed += high->input_tokens - low->input_tokens > 8;
  }
  EXPECT_GT(mixed, plan->steps_per_epoch(0) * 3 / 4);
}

TEST(PairPlan, APairBeyondTheBudgetIsAGroupOfItsOwn) {
  PairLengths lengths{.source = {5, 900, 5}, .target = {6, 800, 6}};
  const auto plan = make_pair_plan({.tokens = 100, .order = BatchOrder::Bucketed}, lengths, 1);
  EXPECT_EQ(plan->steps_per_epoch(0), 2);
  const auto largest = plan->step(0, plan->largest_step(0));
  EXPECT_EQ(indices(largest), std::vector<int64_t>{1});
}

TEST(PairPlan, DropLeavesOutAnotherRemainderEveryEpoch) {
  for (int64_t groups : {1, 2}) {
    const auto plan =
        make_pair_plan({.sequences = 100, .order = BatchOrder::Bucketed, .buckets_per_step = groups, .drop_last = true},
                       ragged_lengths(1003), 1);
    EXPECT_EQ(plan->steps_per_epoch(0), 10);
    for (int64_t s = 0; s < 10; ++s) EXPECT_EQ(plan->step(0, s).sequences.size(), 100u);
    EXPECT_NE(sorted(epoch_indices(*plan, 0)), sorted(epoch_indices(*plan, 1)));
  }
  const BatchConfig shuffled{.sequences = 100, .drop_last = true};
  EXPECT_EQ(make_pair_plan(shuffled, ragged_lengths(1003), 1)->steps_per_epoch(0), 10);
  EXPECT_EQ(make_pair_plan(shuffled, ragged_lengths(1000), 1)->steps_per_epoch(0), 10);
  EXPECT_THROW(make_pair_plan(shuffled, ragged_lengths(99), 1), DataError);
  BatchConfig bucketed = shuffled;
  bucketed.order = BatchOrder::Bucketed;
  EXPECT_THROW(make_pair_plan(bucketed, ragged_lengths(99), 1), DataError);
}

TEST(PairPlan, LargestStepHasMostRows) {
  for (const NamedPlan& named : once_an_epoch()) {
    const auto plan = named.make(1);
    const int64_t most = plan->step(1, plan->largest_step(1)).tokens();
    for (int64_t s = 0; s < plan->steps_per_epoch(1); ++s) EXPECT_LE(plan->step(1, s).tokens(), most) << named.name;
  }
}

TEST(PairPlan, UnusableRowsAreNamed) {
  try {
    make_pair_plan({.sequences = 1}, {.source = {3, 0}, .target = {3, 3}}, 1);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "pair 1: its source is empty");
  }
  EXPECT_THROW(make_pair_plan({.sequences = 1}, {.source = {3}, .target = {1}}, 1), DataError);
  EXPECT_THROW(make_pair_plan({.sequences = 1}, {}, 1), DataError);
}

TEST(PairPlan, MayBeAskedAboutEpochsInAnyOrder) {
  const auto plan = make_pair_plan({.tokens = 500}, ragged_lengths(1003), 1);
  std::vector<std::vector<int64_t>> once;
  for (int64_t epoch = 0; epoch < 5; ++epoch) once.push_back(epoch_indices(*plan, epoch));
  for (int64_t epoch : {4, 0, 2, 3, 0, 1}) EXPECT_EQ(epoch_indices(*plan, epoch), once[epoch]);
}

TEST(PairPlan, MayBeAskedByManyThreads) {
  const auto plan = make_pair_plan({.tokens = 500, .order = BatchOrder::Bucketed}, ragged_lengths(1003), 1);
  const auto alone = make_pair_plan({.tokens = 500, .order = BatchOrder::Bucketed}, ragged_lengths(1003), 1);
  std::vector<std::vector<int64_t>> expected;
  for (int64_t epoch = 0; epoch < 4; ++epoch) expected.push_back(epoch_indices(*alone, epoch));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 12; ++i) wrong += epoch_indices(*plan, (i + t) % 4) != expected[(i + t) % 4];
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(BatchConfig, IsReadFromYamlAndWrittenBack) {
  const auto config = parse_config<BatchConfig>(
      "tokens: 8192\ntoken_count: padded\norder: bucketed\nbuckets_per_step: 2\ndrop_last: true\nmicro_batch_tokens: "
      "0\n",
      "job.yaml");
  EXPECT_EQ(config.tokens, 8192);
  EXPECT_EQ(config.token_count, TokenCount::Padded);
  EXPECT_EQ(config.order, BatchOrder::Bucketed);
  EXPECT_EQ(config.buckets_per_step, 2);
  EXPECT_TRUE(config.drop_last);
  EXPECT_EQ(config.micro_batch_tokens, 0);
  EXPECT_EQ(to_yaml(parse_config<BatchConfig>(to_yaml(config), "job.yaml")), to_yaml(config));
  EXPECT_THROW(parse_config<BatchConfig>("sequences: -1", "job.yaml"), ConfigError);
  EXPECT_THROW(parse_config<BatchConfig>("order: sorted", "job.yaml"), ConfigError);
}

TEST(BatchConfig, SaysWhatDoesNotFit) {
  struct Case {
    BatchConfig config;
    bool windows;
    std::string message, hint;
  };
  const std::vector<Case> cases = {
      {{.context_length = 8}, true, "neither sequences nor tokens", "batch.tokens"},
      {{.sequences = 4, .tokens = 8, .context_length = 8}, true, "sequences (4) and tokens (8) are both set", ""},
      {{.sequences = 4}, true, "batch.context_length is not set", ""},
      {{.tokens = 100, .context_length = 64},
       true,
       "batch.tokens = 100 is not a multiple of batch.context_length = 64",
       "use 64 or 128"},
      {{.tokens = 10, .context_length = 64}, true, "is not a multiple", "use 64, or"},
      {{.sequences = 4, .order = BatchOrder::Bucketed, .context_length = 8}, true, "bucketed is for pairs", ""},
      {{.sequences = 4, .buckets_per_step = 2, .context_length = 8},
       true,
       "batch.buckets_per_step = 2 needs batch.order: bucketed",
       ""},
      {{.sequences = 4, .order = BatchOrder::Random}, false, "random is for windows", ""},
      {{.sequences = 4, .buckets_per_step = 2}, false, "batch.buckets_per_step = 2 needs batch.order: bucketed", ""},
      {{.sequences = 5, .order = BatchOrder::Bucketed, .buckets_per_step = 2},
       false,
       "batch.sequences = 5 is not a multiple",
       ""},
      {{.tokens = 5, .order = BatchOrder::Bucketed, .buckets_per_step = 6}, false, "batch.tokens = 5 is less than", ""},
      {{}, false, "neither sequences nor tokens", ""},
  };
  for (const Case& c : cases) {
    try {
      c.windows ? c.config.check_for_windows() : c.config.check_for_pairs();
      ADD_FAILURE() << "accepted: " << c.message;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find(c.message), std::string::npos) << error.what();
      EXPECT_NE(error.hint().find(c.hint), std::string::npos) << error.hint();
    }
  }
}

TEST(DescribePlan, StatesTheDerivedFigures) {
  const auto plan = make_window_plan({.sequences = 12, .context_length = 64, .shift_windows = false}, 64 * 100 + 1, 1);
  EXPECT_EQ(describe_plan(*plan, 8, 64),
            "order: windows of 64, each once an epoch; 100 sequences, 9 steps an epoch\n"
            "a step: 4 to 12 (mean 11.1) sequences, 256 to 768 (mean 711.1) target tokens\n"
            "each of 8 ranks: 0 to 2 (mean 1.4) sequences in 0 to 2 (mean 1.4) micro-batches of 64 tokens; the busiest "
            "has 2.000 x the mean\n"
            "left out of an epoch: 0 sequences; padding: none\n");
  const auto dropped = make_window_plan(
      {.sequences = 12, .context_length = 64, .shift_windows = false, .drop_last = true}, 64 * 100 + 1, 1);
  EXPECT_NE(describe_plan(*dropped, 2, 0).find("left out of an epoch: 4 sequences"), std::string::npos);
}

}  // namespace
}  // namespace weft
