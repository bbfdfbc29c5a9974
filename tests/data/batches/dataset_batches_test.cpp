// SPDX-License-Identifier: Apache-2.0
// Plans and loaders over prepared files.
#include <gtest/gtest.h>

#include <algorithm>

#include "data/batches/loader.h"
#include "data/dataset/dataset.h"
#include "tests/data/dataset/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"

namespace weft {
namespace {

using namespace test;

struct Source {
  std::shared_ptr<const Dataset> dataset;
  std::shared_ptr<const BatchPlan> plan;
};

// Tokens 0, 1, 2, ... in documents of 7 and shards of 50.
Source stream(const fs::path& directory, const BatchConfig& config) {
  std::vector<Ids> documents(60);
  for (int32_t i = 0; i < 420; ++i) documents[i / 7].push_back(i);
  DatasetBuilder{.directory = directory, .vocabulary = 500, .shard_tokens = 50}.stream(documents);
  auto dataset = std::make_shared<const Dataset>(Dataset::open(directory, DataSplit::Train));
  return {dataset, make_batch_plan(config, *dataset, 1)};
}

// Pair i: its source begins with i, its target is 1, i, ..., 2.
Ids source_row(int32_t i) { return Ids(1 + static_cast<uint32_t>(i) % 6, i); }
Ids target_row(int32_t i) {
  Ids row{1};
  row.insert(row.end(), static_cast<uint32_t>(i) % 9, i);
  row.push_back(2);
  return row;
}
Source pairs(const fs::path& directory, const BatchConfig& config) {
  IdPairs rows;
  for (int32_t i = 0; i < 120; ++i) rows.emplace_back(source_row(i), target_row(i));
  DatasetBuilder{.directory = directory, .vocabulary = 200, .shard_tokens = 100}.pairs(rows);
  auto dataset = std::make_shared<const Dataset>(Dataset::open(directory, DataSplit::Train));
  return {dataset, make_batch_plan(config, *dataset, 1)};
}

// All micro-batches of an epoch, from all ranks.
std::vector<MicroBatch> epoch_of(const Source& source, int64_t dp) {
  std::vector<MicroBatch> result;
  for (int64_t rank = 0; rank < dp; ++rank) {
    Loader loader({.plan = source.plan,
                   .reader = make_reader(source.dataset),
                   .dp_rank = rank,
                   .dp_size = dp,
                   .micro_batch_tokens = 40,
                   .end_epoch = 1});
    while (auto step = loader.next()) {
      for (MicroBatch& micro : step->micro) result.push_back(std::move(micro));
    }
  }
  return result;
}

TEST(DatasetBatches, EveryTokenOfAStreamIsPredictedOnceFromTheOneBefore) {
  const Scratch scratch;
  const auto source = stream(scratch.path(), {.sequences = 5, .context_length = 16, .shift_windows = false});
  for (int64_t dp : {1, 3}) {
    std::vector<int32_t> targets;
    for (const MicroBatch& micro : epoch_of(source, dp)) {
      for (size_t row = 0; row < micro.targets.size(); ++row) {
        EXPECT_EQ(micro.input.tokens[row] + 1, micro.targets[row]);
      }
      targets.insert(targets.end(), micro.targets.begin(), micro.targets.end());
    }
    std::sort(targets.begin(), targets.end());
    ASSERT_EQ(targets.size(), 416u);  // (420 - 1) / 16 windows
    for (int32_t i = 0; i < 416; ++i) EXPECT_EQ(targets[i], i + 1);
  }
}

TEST(DatasetBatches, EveryPairComesOnceWithItsOwnRows) {
  const Scratch scratch;
  const auto source = pairs(scratch.path(), {.tokens = 50, .order = BatchOrder::Bucketed});
  for (int64_t dp : {1, 3}) {
    std::vector<int> seen(120, 0);
    for (const MicroBatch& micro : epoch_of(source, dp)) {
      for (int64_t s = 0; s < micro.sequences(); ++s) {
        const auto cut = [&](const std::vector<int32_t>& rows, const std::vector<int32_t>& offsets) {
          return Ids(rows.begin() + offsets[s], rows.begin() + offsets[s + 1]);
        };
        const Ids from = cut(micro.source.tokens, micro.source.offsets);
        const int32_t pair = from.at(0);
        const Ids row = target_row(pair);
        ++seen.at(pair);
        EXPECT_EQ(from, source_row(pair));
        EXPECT_EQ(cut(micro.input.tokens, micro.input.offsets), Ids(row.begin(), row.end() - 1));
        EXPECT_EQ(cut(micro.targets, micro.input.offsets), Ids(row.begin() + 1, row.end()));
      }
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), 120);
  }
}

TEST(DatasetBatches, EvaluationReadsTheWholeSplit) {
  const Scratch scratch;
  const auto source = stream(scratch.path(), {.sequences = 1, .context_length = 16});
  const auto plan = make_evaluation_plan({.context_length = 32, .stride = 8, .step_tokens = 100}, *source.dataset);
  int64_t targets = 0;
  for (const MicroBatch& micro : epoch_of({source.dataset, plan}, 2)) targets += micro.target_tokens();
  EXPECT_EQ(targets, 419);
}

TEST(DatasetBatches, AConfigurationForTheOtherKindIsRefused) {
  const Scratch scratch;
  const auto source = stream(scratch.path(), {.sequences = 1, .context_length = 16});
  const BatchConfig bucketed{.sequences = 4, .order = BatchOrder::Bucketed, .context_length = 16};
  EXPECT_NE(error_of([&] { make_batch_plan(bucketed, *source.dataset, 1); }).find("bucketed is for pairs"),
            std::string::npos);
}

TEST(DatasetBatches, DamageFoundWhileLoadingNamesTheFile) {
  const Scratch scratch;
  const auto source = stream(scratch.path(), {.sequences = 5, .context_length = 16});
  // A shard holds the ids 300, 301, 302 in a row; the vocabulary ends at 500.
  const std::string wanted("\x2c\x01\x2d\x01\x2e\x01", 6);
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    const size_t at = read_file(entry.path()).find(wanted);
    if (at != std::string::npos) File(entry.path(), File::Mode::ReadWrite).write_at(at, "\xff\x7f", 2);
  }
  Loader loader({.plan = source.plan, .reader = make_reader(source.dataset), .end_epoch = 2});
  const std::string error = error_of([&] {
    while (loader.next()) {
    }
  });
  EXPECT_NE(error.find(".h5 is damaged: bytes "), std::string::npos) << error;
}

}  // namespace
}  // namespace weft
