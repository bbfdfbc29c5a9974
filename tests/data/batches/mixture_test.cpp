// SPDX-License-Identifier: Apache-2.0
// The records of a mixture: shares by weight, each record of a part once in each of the part's own epochs.
#include "data/batches/mixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"
#include "tests/support/error_of.h"

namespace weft {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(MixtureOrder, GivesEachPartItsShareOfAnEpoch) {
  const std::vector<MixturePart> parts = {{100, 3}, {500, 1}, {7, 0.5}};
  const MixtureOrder order(parts);
  EXPECT_EQ(order.records(), 607);
  EXPECT_EQ(order.taken(0), 405);  // 607 x 3 / 4.5 = 404.7
  EXPECT_EQ(order.taken(1), 135);
  EXPECT_EQ(order.taken(2), 67);
}

TEST(MixtureOrder, TakesEveryRecordOfAPartOnceInEachOfItsOwnEpochs) {
  const std::vector<MixturePart> parts = {{10, 3}, {50, 1}};
  const MixtureOrder order(parts);
  std::map<std::pair<size_t, int64_t>, std::vector<int64_t>> places;  // by part and the part's own epoch
  for (int64_t epoch = 0; epoch < 8; ++epoch) {
    for (int64_t slot = 0; slot < order.records(); ++slot) {
      const auto [part, own, place] = order.at(epoch, slot);
      places[{part, own}].push_back(place);
    }
  }
  for (auto& [of, seen] : places) {
    std::ranges::sort(seen);
    EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end()) << "part " << of.first << ", epoch " << of.second;
    EXPECT_LT(seen.back(), parts[of.first].records);
  }
  EXPECT_EQ((places[{0, 3}].size()), 10u);
  EXPECT_EQ((places[{1, 0}].size()), 50u);
}

// At every point of an epoch, the number of records from each part is near its share.
TEST(MixtureOrder, DealsEvenly) {
  const std::vector<std::vector<MixturePart>> mixtures = {
      {{900, 3}, {100, 1}},
      {{400, 1}, {300, 1}, {300, 1}},
      {{1000, 100}, {1000, 50}, {1000, 25}, {1000, 12}, {1000, 6}, {1000, 3}, {1000, 2}},
      {{500, 0.02}, {500, 0.9}, {500, 0.03}, {500, 0.05}}};
  for (const auto& parts : mixtures) {
    const MixtureOrder order(parts);
    const double bound = parts.size() == 2 ? 0.5 : 2;
    std::vector<int64_t> had(parts.size());
    for (int64_t slot = 0; slot < order.records(); ++slot) {
      const auto [part, epoch, place] = order.at(0, slot);
      EXPECT_EQ(epoch * parts[part].records + place, had[part]) << "in the part's own order";
      ++had[part];
      for (size_t i = 0; i < parts.size(); ++i) {
        const double share = static_cast<double>(order.taken(i)) / static_cast<double>(order.records());
        EXPECT_NEAR(static_cast<double>(had[i]), share * static_cast<double>(slot + 1), bound + 1e-9);
      }
    }
    for (size_t i = 0; i < parts.size(); ++i) EXPECT_EQ(had[i], order.taken(i));
  }
}

TEST(MixtureOrder, ADatasetWithoutRecordsIsRefused) {
  const std::vector<MixturePart> parts = {{10, 1}, {0, 1}};
  EXPECT_THAT(error_of([&] { MixtureOrder order(parts); }), HasSubstr("dataset 2 of 2 that are mixed has no records"));
}

TEST(MixtureOrder, WeightsMustBePositiveAndGiveSomething) {
  const auto of = [](double a, double b) {
    const std::vector<MixturePart> parts = {{100, a}, {100, b}};
    return MixtureOrder(parts).records();
  };
  EXPECT_EQ(of(1, 1), 200);
  EXPECT_THROW(of(1, 0), ConfigError);
  EXPECT_THROW(of(1, -1), ConfigError);
  EXPECT_THROW(of(1, 1e-6), ConfigError);
}

const std::vector<StreamPart> kStreams = {{.begin = 0, .tokens = 401, .weight = 1},
                                          {.begin = 401, .tokens = 101, .weight = 1}};

bool within(const PlannedSequence& s, const StreamPart& part) {
  return s.index >= part.begin && s.index + s.input_tokens + 1 <= part.begin + part.tokens;
}

// No window lies across two datasets; each dataset has its share of an epoch, whatever its size.
TEST(MixedWindows, StayInTheirDatasetAndHaveItsShare) {
  for (const BatchOrder order : {BatchOrder::Shuffled, BatchOrder::Random}) {
    const auto plan =
        make_window_plan({.sequences = 6, .order = order, .context_length = 10, .shift_windows = false}, kStreams, 7);
    int64_t first = 0, second = 0;
    for (int64_t epoch = 0; epoch < 20; ++epoch) {
      for (int64_t step = 0; step < plan->steps_per_epoch(epoch); ++step) {
        for (const PlannedSequence& s : plan->step(epoch, step).sequences) {
          first += within(s, kStreams[0]), second += within(s, kStreams[1]);
          EXPECT_NE(within(s, kStreams[0]), within(s, kStreams[1]));
        }
      }
    }
    EXPECT_EQ(first, 20 * plan->sequences_per_epoch() / 2);
    EXPECT_EQ(second, first);
  }
}

// An epoch takes each window of the smaller dataset two and a half times, all of them equally often.
TEST(MixedWindows, TakeEachWindowOfADatasetEquallyOften) {
  const auto plan = make_window_plan({.sequences = 5, .context_length = 10, .shift_windows = false}, kStreams, 7);
  std::map<int64_t, int> seen;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t step = 0; step < plan->steps_per_epoch(epoch); ++step) {
      for (const PlannedSequence& s : plan->step(epoch, step).sequences) ++seen[s.index];
    }
  }
  for (const auto& [index, times] : seen) {
    if (index >= 401) {
      EXPECT_EQ(times, 5) << index;
    } else {
      EXPECT_LE(times, 2) << index;
    }
  }
}

TEST(MixedWindows, AMixtureOfOneDatasetIsThatDatasetsPlan) {
  const std::vector<StreamPart> one = {{.tokens = 500, .weight = 3}};
  const BatchConfig config{.sequences = 6, .context_length = 10};
  const auto mixed = make_window_plan(config, one, 7), alone = make_window_plan(config, 500, 7);
  for (int64_t step = 0; step < alone->steps_per_epoch(1); ++step) {
    EXPECT_EQ(mixed->step(1, step).sequences, alone->step(1, step).sequences);
  }
}

// Every step takes from each dataset as near to its share as the size of the step allows.
TEST(MixedWindows, AreDealtEvenlyOverTheSteps) {
  for (const BatchOrder order : {BatchOrder::Shuffled, BatchOrder::Random}) {
    const auto plan = make_window_plan(
        {.sequences = 10, .order = order, .context_length = 10},
        std::vector<StreamPart>{{.tokens = 401, .weight = 7}, {.begin = 401, .tokens = 101, .weight = 3}}, 7);
    for (int64_t step = 0; step + 1 < plan->steps_per_epoch(0); ++step) {
      const auto of_first =
          std::ranges::count_if(plan->step(0, step).sequences, [&](const auto& s) { return within(s, kStreams[0]); });
      EXPECT_NEAR(of_first, 7, 1) << step;
    }
  }
}

TEST(MixedWindows, AStreamThatIsTooShortIsNamed) {
  const std::vector<StreamPart> parts = {{.tokens = 401}, {.begin = 401, .tokens = 10}};
  EXPECT_THAT(error_of([&] { make_window_plan({.sequences = 1, .context_length = 10}, parts, 7); }),
              HasSubstr("dataset 2 of 2 that are mixed has 10 tokens"));
}

TEST(MixedPairs, AreDealtEvenlyWhereTheirOrderIsRandom) {
  PairLengths lengths{
      .source = std::vector<int32_t>(50, 3), .target = std::vector<int32_t>(50, 4), .parts = {{40, 1}, {10, 4}}};
  const auto plan = make_pair_plan({.sequences = 10}, lengths, 7);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t step = 0; step < 5; ++step) {
      const auto small =
          std::ranges::count_if(plan->step(epoch, step).sequences, [](const auto& s) { return s.index >= 40; });
      EXPECT_NEAR(small, 8, 1) << epoch << " " << step;
    }
  }
  EXPECT_NE(plan->step(0, 0).sequences, plan->step(1, 0).sequences);
}

TEST(MixedPairs, HaveTheirShareOfEveryEpoch) {
  PairLengths lengths{.parts = {{40, 1}, {10, 1}}};
  for (int i = 0; i < 50; ++i) lengths.source.push_back(1 + i % 5), lengths.target.push_back(2 + i % 3);
  for (const BatchConfig& config :
       {BatchConfig{.sequences = 5}, BatchConfig{.tokens = 12, .order = BatchOrder::Bucketed}}) {
    const auto plan = make_pair_plan(config, lengths, 7);
    EXPECT_EQ(plan->sequences_per_epoch(), 50);
    std::map<int64_t, int> seen;
    for (int64_t epoch = 0; epoch < 8; ++epoch) {
      int64_t small = 0, all = 0;
      for (int64_t step = 0; step < plan->steps_per_epoch(epoch); ++step) {
        for (const PlannedSequence& s : plan->step(epoch, step).sequences) {
          small += s.index >= 40, ++all, ++seen[s.index];
        }
      }
      EXPECT_EQ(all, 50);
      EXPECT_EQ(small, 25);
    }
    for (const auto& [pair, times] : seen) EXPECT_EQ(times, pair >= 40 ? 20 : 5) << pair;
  }
}

}  // namespace
}  // namespace weft
