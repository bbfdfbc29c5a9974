// SPDX-License-Identifier: Apache-2.0
#include "data/batches/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "base/error.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/batch_plan_windows.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// Token t of the stream is t; token t of pair p is p x 1000 + t in its source, p x 1000 + 500 + t in its target.
class FakeReader final : public SequenceReader {
 public:
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    const int64_t reads = ++reads_;
    if (fail_at_ > 0 && reads == fail_at_) throw DataError("shard 3 is truncated", "copy it again");
    if (pause_ > 0ms) std::this_thread::sleep_for(pause_);
    if (source.empty()) {
      for (size_t i = 0; i < target.size(); ++i) target[i] = static_cast<int32_t>(s.index + i);
      return;
    }
    for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<int32_t>(s.index * 1000 + i);
    for (size_t i = 0; i < target.size(); ++i) target[i] = static_cast<int32_t>(s.index * 1000 + 500 + i);
  }
  int64_t reads() const { return reads_; }
  std::optional<int32_t> cut_before() const override { return cut_before_; }

  std::optional<int32_t> cut_before_;
  int64_t fail_at_ = 0;  // the read that throws, counted from 1
  std::chrono::milliseconds pause_{0};

 private:
  mutable std::atomic<int64_t> reads_{0};
};

void wait_for_reads(const FakeReader& reader, int64_t reads) {
  for (int i = 0; i < 10000 && reader.reads() < reads; ++i) std::this_thread::sleep_for(1ms);
}

PairLengths lengths(int64_t pairs) {
  PairLengths result;
  for (int32_t i = 0; i < pairs; ++i) {
    result.source.push_back(1 + i % 11);
    result.target.push_back(2 + i % 7);
  }
  return result;
}

std::shared_ptr<const BatchPlan> windows() { return make_window_plan({.sequences = 5, .context_length = 8}, 200, 1); }
std::shared_ptr<const BatchPlan> pairs() {
  return make_pair_plan({.tokens = 60, .order = BatchOrder::Bucketed}, lengths(97), 1);
}

TEST(ReadStep, AWindowOfOneMoreTokenGivesInputsAndTheNextTokens) {
  const auto plan = windows();
  const auto step = plan->step(0, 0);
  const auto batches = read_step(step, FakeReader(), 0, 1, 16);
  EXPECT_EQ(batches.step_sequences, 5);
  EXPECT_EQ(batches.step_target_tokens, 40);
  EXPECT_EQ(batches.micro.size(), 3u);  // two windows of 8 tokens at most
  for (const MicroBatch& micro : batches.micro) {
    EXPECT_EQ(micro.source.sequences(), 0);
    EXPECT_TRUE(micro.source.tokens.empty());
    ASSERT_EQ(micro.input.sequences(), micro.sequences());
    for (int64_t i = 0; i < micro.sequences(); ++i) {
      EXPECT_EQ(micro.input.offsets[i], 8 * i);
      EXPECT_EQ(micro.input.tokens[8 * i], step.sequences[micro.sequence_ids[i]].index);
    }
    ASSERT_EQ(micro.targets.size(), micro.input.tokens.size());
    for (size_t row = 0; row < micro.targets.size(); ++row) EXPECT_EQ(micro.targets[row], micro.input.tokens[row] + 1);
  }
}

// Inputs and targets are those of the whole windows; only the beginnings of sequences change, and so their ids.
TEST(ReadStep, AWindowIsCutWhereADocumentBegins) {
  const PlannedStep step{.sequences = {{.index = 10, .input_tokens = 8}, {.index = 13, .input_tokens = 8}}};
  FakeReader reader;
  const MicroBatch whole = read_step(step, reader, 0, 1, 0).micro.at(0);
  const auto cut_before = [&](int32_t token) {
    reader.cut_before_ = token;
    MicroBatch cut = read_step(step, reader, 0, 1, 0).micro.at(0);
    EXPECT_EQ(cut.input.tokens, whole.input.tokens);
    EXPECT_EQ(cut.targets, whole.targets);
    return cut;
  };
  using Ids = std::vector<int64_t>;
  using Offsets = std::vector<int32_t>;
  EXPECT_EQ(cut_before(16).input.offsets, (Offsets{0, 6, 8, 11, 16}));
  EXPECT_EQ(cut_before(16).sequence_ids, (Ids{0, 6, 8, 11}));
  EXPECT_EQ(cut_before(13).input.offsets, (Offsets{0, 3, 8, 16})) << "the second begins there anyhow";
  EXPECT_EQ(cut_before(18).input.offsets, (Offsets{0, 8, 13, 16})) << "the first has it as its last target";
  EXPECT_EQ(cut_before(99).input.offsets, whole.input.offsets);
  EXPECT_EQ(cut_before(99).sequence_ids, (Ids{0, 8}));
}

TEST(ReadStep, CutSequencesHaveTheSameIdsOnAnyLayout) {
  FakeReader reader;
  reader.cut_before_ = 77;
  std::map<int64_t, std::vector<int32_t>> alone;
  for (const int64_t dp : {1, 3, 5}) {
    std::map<int64_t, std::vector<int32_t>> sequences;
    for (int64_t rank = 0; rank < dp; ++rank) {
      for (const MicroBatch& micro : read_step(windows()->step(0, 1), reader, rank, dp, 16).micro) {
        for (int64_t i = 0; i < micro.sequences(); ++i) {
          const auto begin = micro.input.tokens.begin();
          sequences[micro.sequence_ids[i]].assign(begin + micro.input.offsets[i], begin + micro.input.offsets[i + 1]);
        }
      }
    }
    if (dp == 1) alone = sequences;
    EXPECT_EQ(sequences, alone) << dp;
  }
}

TEST(ReadStep, LeavesAreTheSameOnAnyNumberOfRanks) {
  for (const auto& plan : {windows(), pairs()}) {
    for (const Padding padding : {Padding::None, Padding::Buckets}) {
      std::map<int64_t, std::vector<int32_t>> alone;
      for (const int64_t dp : {1, 2, 3, 5}) {
        std::map<int64_t, std::vector<int32_t>> leaves;
        int64_t most = 0;
        for (int64_t rank = 0; rank < dp; ++rank) {
          const auto mine = read_step(plan->step(0, 1), FakeReader(), rank, dp, 20, padding, StepCut::Leaves);
          ASSERT_EQ(mine.leaf.size(), mine.micro.size());
          EXPECT_TRUE(std::ranges::is_sorted(mine.leaf));
          EXPECT_EQ(mine.leaves, read_step(plan->step(0, 1), FakeReader(), 0, 1, 20, padding, StepCut::Leaves).leaves);
          for (size_t i = 0; i < mine.leaf.size(); ++i) {
            EXPECT_TRUE(leaves.emplace(mine.leaf[i], mine.micro[i].input.tokens).second) << "a leaf is taken once";
            EXPECT_LE(mine.micro[i].tokens(), 20);
          }
          most = std::max<int64_t>(most, std::ssize(mine.leaf));
          EXPECT_LE(std::ssize(mine.leaf), mine.most_micro);
        }
        EXPECT_EQ(most, read_step(plan->step(0, 1), FakeReader(), 0, dp, 20, padding, StepCut::Leaves).most_micro);
        EXPECT_EQ(std::ssize(leaves), leaves.rbegin()->first + 1);
        if (dp == 1) alone = leaves;
        EXPECT_EQ(leaves, alone) << dp;
      }
      EXPECT_GT(alone.size(), 2u);
    }
  }
}

TEST(ReadStep, PairsLieEndToEnd) {
  const auto step = pairs()->step(0, 3);
  const auto batches = read_step(step, FakeReader(), 0, 1, 0);
  ASSERT_EQ(batches.micro.size(), 1u);
  const MicroBatch& micro = batches.micro[0];
  ASSERT_EQ(micro.sequences(), static_cast<int64_t>(step.sequences.size()));
  for (int64_t i = 0; i < micro.sequences(); ++i) {
    const PlannedSequence& s = step.sequences[micro.sequence_ids[i]];
    ASSERT_EQ(micro.source.offsets[i + 1] - micro.source.offsets[i], s.source_tokens);
    ASSERT_EQ(micro.input.offsets[i + 1] - micro.input.offsets[i], s.input_tokens);
    for (int32_t t = 0; t < s.source_tokens; ++t) {
      EXPECT_EQ(micro.source.tokens[micro.source.offsets[i] + t], s.index * 1000 + t);
    }
    for (int32_t t = 0; t < s.input_tokens; ++t) {
      EXPECT_EQ(micro.input.tokens[micro.input.offsets[i] + t], s.index * 1000 + 500 + t);
      EXPECT_EQ(micro.targets[micro.input.offsets[i] + t], s.index * 1000 + 500 + t + 1);
    }
  }
  EXPECT_EQ(micro.source.num_tokens(), micro.source.offsets.back());
  EXPECT_EQ(micro.input.num_tokens(), micro.input.offsets.back());
}

// The loss is divided by the number of target tokens that all ranks hold together.
TEST(ReadStep, TotalsOfThePlanAreWhatAllRanksHold) {
  const std::vector<std::shared_ptr<const BatchPlan>> plans = {
      windows(), pairs(), make_window_evaluation({.context_length = 8, .stride = 3, .step_tokens = 40}, 77),
      make_pair_evaluation({.step_tokens = 100}, lengths(97))};
  for (const auto& plan : plans) {
    for (int64_t dp : {1, 2, 3, 4, 8, 40}) {
      for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
        const auto step = plan->step(0, s);
        int64_t tokens = 0, sequences = 0, most = 0, told = 0;
        std::vector<int64_t> sequence_ids;
        for (int64_t rank = 0; rank < dp; ++rank) {
          const auto batches = read_step(step, FakeReader(), rank, dp, 20);
          EXPECT_EQ(batches.step_target_tokens, step.target_tokens());
          tokens += batches.target_tokens();
          most = std::max(most, static_cast<int64_t>(batches.micro.size()));
          told = batches.most_micro;
          for (const auto& micro : batches.micro) {
            sequences += micro.sequences();
            sequence_ids.insert(sequence_ids.end(), micro.sequence_ids.begin(), micro.sequence_ids.end());
          }
        }
        EXPECT_EQ(tokens, step.target_tokens());
        EXPECT_EQ(told, most);
        EXPECT_EQ(sequences, static_cast<int64_t>(step.sequences.size()));
        std::sort(sequence_ids.begin(), sequence_ids.end());
        for (size_t i = 0; i < sequence_ids.size(); ++i) EXPECT_EQ(sequence_ids[i], static_cast<int64_t>(i));
      }
    }
  }
}

TEST(ReadStep, ASampleHoldsTheSameTokensOnAnyLayout) {
  const auto step = pairs()->step(1, 2);
  const auto by_sample = [&](int64_t dp, int64_t micro_batch_tokens) {
    std::map<int64_t, std::vector<int32_t>> inputs;
    for (int64_t rank = 0; rank < dp; ++rank) {
      for (const auto& micro : read_step(step, FakeReader(), rank, dp, micro_batch_tokens).micro) {
        for (int64_t i = 0; i < micro.sequences(); ++i) {
          const auto begin = micro.input.tokens.begin();
          inputs[micro.sequence_ids[i]].assign(begin + micro.input.offsets[i], begin + micro.input.offsets[i + 1]);
        }
      }
    }
    return inputs;
  };
  const auto one = by_sample(1, 0);
  EXPECT_EQ(by_sample(3, 0), one);
  EXPECT_EQ(by_sample(2, 15), one);
  EXPECT_EQ(by_sample(50, 1), one);
}

TEST(ReadStep, ContextOnlyTargetsAreMinusOne) {
  const auto plan = make_window_evaluation({.context_length = 8, .stride = 3, .step_tokens = 16}, 20);
  const auto batches = read_step(plan->step(0, 0), FakeReader(), 0, 1, 0);
  const std::vector<int32_t> expected = {1, 2, 3, 4, 5, 6, 7, 8, -1, -1, -1, -1, -1, 9, 10, 11};
  EXPECT_EQ(batches.micro[0].targets, expected);
  EXPECT_EQ(batches.micro[0].target_tokens(), 11);
}

TEST(Loader, YieldsEveryStepInOrderFromAnyPosition) {
  for (const auto& plan : {windows(), pairs()}) {
    const int64_t steps = plan->steps_per_epoch(0);
    for (const Position start :
         {Position{0, 0}, Position{0, 2}, Position{0, steps - 1}, Position{0, steps}, Position{1, 1}}) {
      Loader loader({.plan = plan, .reader = std::make_shared<FakeReader>(), .start = start, .end_epoch = 3});
      Position at = plan->normalised(start);
      EXPECT_EQ(loader.position(), at);
      while (at.epoch < 3) {
        const auto step = loader.next();
        ASSERT_TRUE(step);
        EXPECT_EQ((Position{step->epoch, step->step_in_epoch}), at);
        const auto expected = read_step(plan->step(at.epoch, at.step), FakeReader(), 0, 1, 0);
        EXPECT_EQ(step->micro[0].input.tokens, expected.micro[0].input.tokens);
        at = plan->after(at);
        EXPECT_EQ(loader.position(), at);
      }
      EXPECT_FALSE(loader.next());
      EXPECT_FALSE(loader.next());
    }
  }
}

TEST(Loader, TakesEveryThirdStep) {
  std::vector<int64_t> taken;
  const int64_t steps = windows()->steps_per_epoch(0);
  for (int64_t first = 0; first < 3; ++first) {
    Loader loader({.plan = windows(),
                   .reader = std::make_shared<FakeReader>(),
                   .start = {.step = first},
                   .every = 3,
                   .end_epoch = 1});
    for (int64_t expected = first; const auto step = loader.next(); expected += 3) {
      EXPECT_EQ(step->step_in_epoch, expected);
      taken.push_back(step->step_in_epoch);
    }
  }
  EXPECT_EQ(std::ssize(taken), steps);
}

TEST(Loader, RunsForeverWithoutALimit) {
  Loader loader({.plan = windows(), .reader = std::make_shared<FakeReader>()});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(loader.next());
}

TEST(Loader, MoreRanksThanSequencesLeavesSomeWithNothing) {
  int empty = 0;
  for (int64_t rank = 0; rank < 7; ++rank) {
    Loader loader({.plan = windows(), .reader = std::make_shared<FakeReader>(), .dp_rank = rank, .dp_size = 7});
    const auto step = loader.next();
    EXPECT_EQ(step->step_target_tokens, 40);
    empty += step->micro.empty();
  }
  EXPECT_EQ(empty, 2);
}

TEST(Loader, ReadsNoFurtherAheadThanAsked) {
  const auto reader = std::make_shared<FakeReader>();
  Loader loader({.plan = windows(), .reader = reader, .steps_ahead = 2});
  ASSERT_TRUE(loader.next());
  wait_for_reads(*reader, 15);
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(reader->reads(), 15);  // one step taken and two ready, five windows each
}

TEST(Loader, AFailedReadSurfacesAfterTheStepsBeforeIt) {
  const auto reader = std::make_shared<FakeReader>();
  reader->fail_at_ = 13;  // in the third step
  Loader loader({.plan = windows(), .reader = reader});
  ASSERT_TRUE(loader.next());
  ASSERT_TRUE(loader.next());
  for (int again = 0; again < 2; ++again) {
    try {
      loader.next();
      FAIL();
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "shard 3 is truncated");
      EXPECT_EQ(error.hint(), "copy it again");
    }
  }
}

TEST(Loader, EndsWhileItsThreadWaitsOrReads) {
  const auto begin = std::chrono::steady_clock::now();
  for (auto pause : {0ms, 5ms}) {
    const auto reader = std::make_shared<FakeReader>();
    reader->pause_ = pause;
    for (int taken = 0; taken < 3; ++taken) {
      Loader loader({.plan = windows(), .reader = reader});
      for (int i = 0; i < taken; ++i) loader.next();
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
}

TEST(Loader, CountsTheTimeItWaited) {
  const auto reader = std::make_shared<FakeReader>();
  reader->pause_ = 10ms;
  Loader loader({.plan = windows(), .reader = reader});
  loader.next();
  EXPECT_GE(loader.waited_seconds(), 0.03);
  // Once all steps are ready, next() does not wait.
  const auto quick = std::make_shared<FakeReader>();
  Loader ready({.plan = windows(), .reader = quick, .steps_ahead = 4});
  wait_for_reads(*quick, 20);
  ready.next();
  EXPECT_EQ(ready.waited_seconds(), 0);
}

TEST(Loader, RefusesAPositionOutsideTheEpoch) {
  EXPECT_THROW(Loader({.plan = windows(), .reader = std::make_shared<FakeReader>(), .start = {0, 99}}), InternalError);
  EXPECT_THROW(Loader({.plan = windows()}), InternalError);
}

}  // namespace
}  // namespace weft
