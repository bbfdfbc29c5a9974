// SPDX-License-Identifier: Apache-2.0
// Counts the work and the memory of one rank of 64, 1,024 and 8,192: nothing is timed, and no other rank runs.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>
#include <set>

#include "base/divide_up.h"
#include "checkpoint/header.h"
#include "checkpoint/parameters.h"
#include "checkpoint/parts/part.h"
#include "checkpoint/parts/reading_order.h"
#include "data/batches/batch_plan_slice.h"
#include "data/batches/batch_plan_windows.h"
#include "data/batches/loader.h"
#include "parallel/local/dry_communicator.h"
#include "tests/data/dataset/fixture.h"
#include "tests/model/fixture/model.h"
#include "tests/support/scratch.h"
#include "trainer/step/training_step.h"

namespace {

struct Allocated {
  std::atomic<int64_t> calls = 0, bytes = 0;
};

// The memory that this process has requested from operator new so far.
Allocated& allocated() {
  static Allocated counts;
  return counts;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  allocated().calls += 1, allocated().bytes += static_cast<int64_t>(bytes);
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weft {
namespace {

using namespace test;

struct Count {
  int64_t calls = 0, bytes = 0;
};

template <class Work>
Count count(Work&& work) {
  const int64_t calls = allocated().calls, bytes = allocated().bytes;
  work();
  return {allocated().calls - calls, allocated().bytes - bytes};
}

class NoTokens : public SequenceReader {
 public:
  void read(const PlannedSequence&, std::span<int32_t>, std::span<int32_t> target) const override {
    std::ranges::fill(target, 0);
  }
};

constexpr int64_t kWorlds[] = {64, 1024, 8192};

// The growth from 64 ranks stays within n log n.
void expect_near_linear(int64_t ranks, int64_t bytes, int64_t of_64, const char* what) {
  const auto logarithm = static_cast<double>(std::bit_width(static_cast<uint64_t>(ranks)));
  const double allowed = 2.0 * static_cast<double>(of_64) * (static_cast<double>(ranks) / 64) * (logarithm / 7);
  EXPECT_LE(static_cast<double>(bytes), allowed) << what << " of " << ranks << " ranks";
}

// Each replica takes two windows, which are two micro-batches.
std::shared_ptr<const BatchPlan> plan_for(int64_t ranks) {
  return make_window_plan({.sequences = 2 * ranks, .context_length = 4}, 4 * 4 * 2 * ranks + 1, 1);
}

TEST(Scale, AStepCutsItsPlanOnce) {
  int64_t of_64 = 0;
  for (const int64_t ranks : kWorlds) {
    const PlannedStep step = plan_for(ranks)->step(0, 0);
    const Count once = count([&] { slice_all(step, ranks); });
    StepBatches batches;
    const Count all = count([&] { batches = read_step(step, NoTokens(), ranks - 1, ranks, 4); });
    EXPECT_EQ(batches.most_micro, 2);
    EXPECT_EQ(batches.micro.size(), 2U);
    EXPECT_LT(all.calls, once.calls + once.calls / 2 + 100) << ranks;
    if (ranks == kWorlds[0]) of_64 = all.bytes;
    expect_near_linear(ranks, all.bytes, of_64, "a step's tables");
  }
}

TEST(Scale, ThePlanIsDescribedInFewSteps) {
  int64_t of_64 = 0;
  for (const int64_t ranks : kWorlds) {
    const auto plan = plan_for(ranks);
    int beats = 0;
    const Count all = count([&] { describe_plan(*plan, ranks, 4, [&] { ++beats; }); });
    EXPECT_GT(beats, 0);
    EXPECT_LE(beats, 16);
    if (ranks == kWorlds[0]) of_64 = all.bytes;
    expect_near_linear(ranks, all.bytes, of_64, "a description's tables");
  }
}

StepBatches one_window() {
  MicroBatch micro;
  micro.input = {.tokens = {1, 2, 3}, .offsets = {0, 3}};
  micro.targets = {2, 3, 4}, micro.sequence_ids = {0};
  StepBatches batches;
  batches.step_target_tokens = 3;
  batches.micro = {micro};
  return batches;
}

// The bytes that all ranks exchange in a step, and the tables of mesh, layout, buckets and optimizer, do not grow.
TEST(Scale, TheControlVectorIsOfOneSize) {
  int64_t of_64 = 0;
  for (const int64_t ranks : kWorlds) {
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      Context context({.kind = DeviceKind::Meta});
      Traffic world;
      const Count all = count([&] {
        Mesh mesh = dry_mesh({.dp = static_cast<int>(ranks)}, context, static_cast<int>(ranks) - 1);
        const auto model = make_model(context, mesh, test::small_spec(false));
        model->allocate(Precision::Fp32, Purpose::Training, {.zero = zero, .bucket_bytes = 4096});
        Optimizer optimizer(context, model->parameters(), {});
        TrainingStep step(*model, optimizer, {.clip_norm = 1});
        mesh.world().traffic().clear();
        int64_t updates = 0;
        step.run(one_window(), {}, updates, 0, {});
        world = mesh.world().traffic();
      });
      EXPECT_EQ(world.total().calls, 1) << "the one control all-reduce";
      EXPECT_EQ(world[Collective::AllReduce].bytes, 80);
      EXPECT_LE(world.total().bytes, 1024);
      if (ranks == kWorlds[0] && zero == ZeroStage::Whole) of_64 = all.bytes;
      expect_near_linear(ranks, all.bytes, of_64, "a step's and its set-up's tables");
    }
  }
}

// A checkpoint part describes only the rank's own arrays, one for each bucket of which the rank owns a share, and the
// manifest has a line for the part.
TEST(Scale, ACheckpointGrowsByALineARank) {
  size_t index_of_64 = 0;
  for (const int64_t ranks : kWorlds) {
    Context context({.kind = DeviceKind::Meta});
    const MeshLayout layout{.dp = static_cast<int>(ranks / 8), .tp = 8};
    Mesh mesh = dry_mesh(layout, context, static_cast<int>(ranks) - 1);
    const auto model =
        make_model(context, mesh, {.config = {.layers = 24, .width = 512, .heads = 8}, .vocabularies = {.target = 11}});
    const ParameterRegistry& registry = model->parameters();
    model->allocate(Precision::Fp32, Purpose::Training, {.zero = ZeroStage::Optimizer, .bucket_bytes = 1 << 20});
    const auto owned = owned_arrays(registry, std::vector<NamedBuffer>{{"moment1", registry.make_state()}});
    EXPECT_LE(owned.size(), registry.layout().owned.size());
    const std::string index = index_text({.arrays = stored_arrays(owned)});
    if (ranks == kWorlds[0]) index_of_64 = index.size();
    EXPECT_LE(index.size(), index_of_64) << ranks << " ranks";

    CheckpointManifest manifest{.job = std::string(8192, 'j'), .layout = layout};
    for (int rank = 0; rank < ranks; ++rank) {
      manifest.files.push_back({.name = part_name(rank),
                                .bytes = uint64_t{1} << 34,
                                .index = {.offset = uint64_t{1} << 33, .bytes = index.size(), .hash = ~uint64_t{0}}});
    }
    const std::string text = checkpoint_manifest_text(manifest);
    EXPECT_LE(text.size(), 16384 + static_cast<size_t>(ranks) * 160);
    EXPECT_LE(text.size(), size_t{2} << 20);
    const CheckpointManifest read = parse_checkpoint_manifest(text, "manifest.json");
    EXPECT_EQ(reading_order(read, &mesh).front(), static_cast<size_t>(ranks) - 1) << "its own file comes first";
  }
}

// Each rank checks its share of 300 shards, and then opens the shards with its windows.
TEST(Scale, ARankOpensTheShardsThatItReads) {
  constexpr int64_t kShards = 300, kShardTokens = 64, kContext = 8;
  const Scratch scratch;
  Ids tokens(kShards * kShardTokens);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i % 90);
  DatasetBuilder{.directory = scratch.path(), .shard_tokens = kShardTokens}.stream({tokens});
  for (const int64_t ranks : kWorlds) {
    // A step has the same few windows on any number of ranks: if there are more ranks than windows, some get no window.
    const auto plan = make_window_plan({.sequences = 2 * 64, .context_length = kContext}, kShards * kShardTokens, 1);
    for (const int64_t rank : {int64_t{0}, ranks / 2, ranks - 1}) {
      const auto dataset =
          std::make_shared<const Dataset>(Dataset::open(scratch.path(), DataSplit::Train, {.part = rank, .of = ranks}));
      const int64_t share = rank < kShards ? divide_up(kShards - rank, ranks) : 0;
      EXPECT_EQ(dataset->opened_shards(), share);
      std::set<int64_t> read;
      const auto reader = make_reader(dataset);
      for (int64_t s = 0; s < std::min<int64_t>(3, plan->steps_per_epoch(0)); ++s) {
        const PlannedStep step = plan->step(0, s);
        read_step(step, *reader, rank, ranks, 0);
        const auto slice = slice_all(step, ranks)[static_cast<size_t>(rank)];
        for (const int64_t place : slice) {
          const int64_t first = step.sequences[place].index, last = first + step.sequences[place].input_tokens;
          for (int64_t shard = first / kShardTokens; shard <= last / kShardTokens; ++shard) read.insert(shard);
        }
      }
      EXPECT_LE(dataset->opened_shards(), share + static_cast<int64_t>(read.size())) << rank << " of " << ranks;
    }
  }
}

}  // namespace
}  // namespace weft
