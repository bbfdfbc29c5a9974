// SPDX-License-Identifier: Apache-2.0
// Micro-batches of pairs that are filled up to a bucket of shapes.
#include "data/batches/padded_shape.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "base/divide_up.h"
#include "data/batches/batch_plan_pairs.h"
#include "data/batches/loader.h"

namespace weft {
namespace {

class CountingReader : public SequenceReader {
 public:
  void read(const PlannedSequence& s, std::span<int32_t> source, std::span<int32_t> target) const override {
    for (size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<int32_t>(1000 + s.index + static_cast<int64_t>(i));
    for (size_t i = 0; i < target.size(); ++i) target[i] = static_cast<int32_t>(1 + s.index + static_cast<int64_t>(i));
  }
};

// Lengths that spread as those of sentences do, about a log-normal distribution.
PairLengths sentences(int pairs, double mean, int longest, bool joined = false) {
  std::mt19937 draw(7);
  const auto normal = [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(draw()) / 4294967296.0;
    return sum - 6;
  };
  PairLengths lengths{.joined = joined};
  for (int i = 0; i < pairs; ++i) {
    const double source = mean * std::exp(0.5 * normal()), target = source * std::exp(0.2 * normal());
    lengths.source.push_back(std::clamp(static_cast<int>(source), 1, longest));
    lengths.target.push_back(std::clamp(static_cast<int>(target), 2, longest));
  }
  return lengths;
}

// The micro-batch is `plain`, and behind it sequences that predict nothing up to the bucket.
void expect_padded(const MicroBatch& padded, const MicroBatch& plain, const BatchShape& bucket, int64_t longest) {
  ASSERT_EQ(padded.sequences(), bucket.sequences);
  ASSERT_EQ(padded.source.num_tokens(), bucket.source_rows);
  ASSERT_EQ(padded.input.num_tokens(), bucket.input_rows);
  ASSERT_EQ(std::ssize(padded.targets), bucket.input_rows);
  ASSERT_EQ(padded.input.sequences(), bucket.sequences);
  EXPECT_EQ(padded.tokens(), plain.tokens());
  EXPECT_EQ(padded.target_tokens(), plain.target_tokens());
  const auto begins_with = [](const auto& all, const auto& first) {
    return std::equal(first.begin(), first.end(), all.begin());
  };
  EXPECT_TRUE(begins_with(padded.sequence_ids, plain.sequence_ids));
  EXPECT_TRUE(begins_with(padded.input.tokens, plain.input.tokens));
  EXPECT_TRUE(begins_with(padded.input.offsets, plain.input.offsets));
  EXPECT_TRUE(begins_with(padded.source.tokens, plain.source.tokens));
  EXPECT_TRUE(begins_with(padded.source.offsets, plain.source.offsets));
  EXPECT_TRUE(begins_with(padded.targets, plain.targets));
  int64_t empty = 0;
  for (int64_t s = plain.sequences(); s < padded.sequences(); ++s) {
    const auto length = [s](const PackedSequences& side) { return side.offsets[s + 1] - side.offsets[s]; };
    const int64_t inputs = length(padded.input), sources = bucket.source_rows > 0 ? length(padded.source) : inputs;
    empty += inputs == 0;
    EXPECT_EQ(inputs == 0, sources == 0) << "queries without keys";
    EXPECT_LE(std::max(inputs, sources), longest);
    EXPECT_GE(std::min(inputs, sources), 0);
  }
  EXPECT_GE(empty, 1);
}

TEST(PaddedStep, HasTheSequencesAndBehindThemThosePredictNothing) {
  for (const bool joined : {false, true}) {
    const auto plan = make_pair_plan({.tokens = 700, .order = BatchOrder::Bucketed}, sentences(300, 12, 40, joined), 3);
    for (int64_t s = 0; s < plan->steps_per_epoch(0); ++s) {
      const PlannedStep step = plan->step(0, s);
      for (const int64_t ranks : {1, 3}) {
        int64_t rows = 0;
        std::set<uint64_t> shapes;
        int64_t said = 0;
        for (int64_t rank = 0; rank < ranks; ++rank) {
          const StepBatches plain = read_step(step, CountingReader(), rank, ranks, 400);
          const StepBatches padded = read_step(step, CountingReader(), rank, ranks, 400, Padding::Buckets);
          ASSERT_EQ(padded.micro.size(), plain.micro.size());
          EXPECT_EQ(padded.step_target_tokens, plain.step_target_tokens);
          for (size_t i = 0; i < plain.micro.size(); ++i) {
            expect_padded(padded.micro[i], plain.micro[i], padded.bucket, longest_sequence(step));
          }
          rows += padded.bucket.rows() * std::ssize(padded.micro);
          shapes.insert(padded.shape);
          said = padded.padding_rows;
        }
        EXPECT_EQ(said, rows - step.tokens());
        EXPECT_EQ(shapes.size(), 1u) << "ranks differ";
      }
    }
  }
}

// Where one side has few rows to spare and the other many, both have enough for every padding sequence.
TEST(PaddedStep, EveryPaddingSequenceHasAQueryAndAKey) {
  for (const int64_t longest : {1, 2, 5, 30}) {
    for (int64_t source = 1; source < 200; source += 7) {
      for (int64_t input = 1; input < 200; input += 5) {
        const int64_t sequences = longest == 1 ? source : divide_up(std::max(source, input), longest);
        const std::vector<BatchShape> micro = {{sequences, source, longest == 1 ? source : input}, {1, 1, 1}};
        const BatchShape bucket = bucket_of(micro, longest);
        for (const BatchShape& own : micro) {
          const int64_t filled =
              divide_up(std::max(bucket.source_rows - own.source_rows, bucket.input_rows - own.input_rows), longest);
          EXPECT_LE(filled, bucket.source_rows - own.source_rows);
          EXPECT_LE(filled, bucket.input_rows - own.input_rows);
          EXPECT_LT(own.sequences + filled, bucket.sequences);
        }
      }
    }
  }
}

struct Spent {
  double padding = 0;  // the share of all rows
  int64_t steps = 0;
  size_t shapes = 0;
};
Spent spent(const BatchConfig& config, const PairLengths& lengths, int64_t dp, int64_t micro_batch_tokens = 0) {
  const auto plan = make_pair_plan(config, lengths, 5);
  std::set<uint64_t> shapes;
  double padding = 0, tokens = 0;
  Spent spent;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    for (int64_t s = 0; s < plan->steps_per_epoch(epoch); ++s, ++spent.steps) {
      const PlannedStep step = plan->step(epoch, s);
      const StepBatches batches = read_step(step, CountingReader(), 0, dp, micro_batch_tokens, Padding::Buckets);
      shapes.insert(batches.shape);
      padding += static_cast<double>(batches.padding_rows);
      tokens += static_cast<double>(step.tokens());
    }
  }
  spent.padding = padding / (padding + tokens), spent.shapes = shapes.size();
  return spent;
}

// The batches of the shipped jobs, over sentences as long as theirs.
TEST(PaddedStep, FewShapesServeAllAndFewRowsAreWasted) {
  const auto expect_few = [](const char* what, const Spent& spent) {
    EXPECT_LT(spent.padding, 0.05) << what;
    EXPECT_LT(spent.shapes, 50u) << what << ": " << spent.steps << " steps";
    EXPECT_GT(spent.steps, 200) << what;
  };
  const BatchConfig sample{.tokens = 2048, .order = BatchOrder::Bucketed};
  const BatchConfig base{.tokens = 25000, .order = BatchOrder::Bucketed, .buckets_per_step = 8};
  expect_few("the sample job", spent(sample, sentences(30000, 10, 96), 1));
  expect_few("the sample job on two", spent(sample, sentences(30000, 10, 96), 2));
  const PairLengths longer = sentences(150000, 28, 255);
  expect_few("Transformer-Base", spent(base, longer, 1));
  expect_few("Transformer-Base on eight", spent(base, longer, 8));
  expect_few("Transformer-Base in pieces", spent(base, longer, 2, 8192));
}

TEST(PaddedStep, NoStepOfWindowsIsPadded) {
  const PlannedStep step{.sequences = {{.index = 10, .input_tokens = 8}}};
  EXPECT_EQ(read_step(step, CountingReader(), 0, 1, 0).padding_rows, 0);
  EXPECT_EQ(read_step(step, CountingReader(), 0, 1, 0).bucket, BatchShape{});
}

}  // namespace
}  // namespace weft
