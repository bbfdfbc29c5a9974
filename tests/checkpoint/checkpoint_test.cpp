// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <random>

#include "base/error.h"
#include "checkpoint/average.h"
#include "checkpoint/parameters.h"
#include "checkpoint/reader.h"
#include "checkpoint/retention.h"
#include "checkpoint/writer.h"
#include "parallel/local/in_process.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

struct Reader {
  MeshLayout layout;
  bool zero = false;
};

// Any layout reads any checkpoint, whatever its replicas divide, even if tp does not divide the vocabulary.
TEST_F(Checkpoints, EveryLayoutReadsEveryOther) {
  std::vector<Reader> all = {{{2, 1}, true}, {{4, 1}, true}, {{2, 2}, true}, {{4, 4}, true}};
  for (const int dp : {1, 2, 4}) {
    for (const int tp : {1, 2, 4}) all.push_back({{dp, tp}});
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const fs::path path = save(directory_, all[i].layout, static_cast<int64_t>(i), 77, {}, all[i].zero);
    for (const Reader& reader : all) {
      run_in_process(reader.layout, [&](Mesh& mesh, int) {
        Context context;
        ParameterRegistry registry(context, mesh), expected(context, mesh);
        declare(registry, small_buckets(reader.zero)), declare(expected, small_buckets(reader.zero));
        expected.initialise(77);
        const FlatBuffer moment = registry.make_state();
        const Checkpoint checkpoint = Checkpoint::open(path);
        checkpoint.read(context, local_boxes(registry, std::vector<NamedBuffer>{{"master", registry.master()},
                                                                                {"moment1", moment}}));
        registry.sync_compute_weights();  // in fp32 the masters are the values, gathered from their owners
        EXPECT_TRUE(same_bytes(registry.master().data, expected.master().data));
        EXPECT_TRUE(same_bytes(moment.data, moment_like_master(expected).data));
      });
    }
  }
}

// A piece of a flat tensor is at most five boxes, which hold its elements in order.
TEST(CutFlat, PiecesHoldTheirElementsInOrder) {
  const Shape shape{3, 4, 5};
  for (int64_t begin = 0; begin <= shape.elements(); ++begin) {
    for (int64_t end = begin; end <= shape.elements(); ++end) {
      const auto boxes = cut_flat(shape, begin, end);
      EXPECT_LE(boxes.size(), 5u);
      int64_t next = begin;
      for (const Box& box : boxes) {
        for (int64_t i = 0; i < box.extent[0]; ++i) {
          for (int64_t j = 0; j < box.extent[1]; ++j) {
            for (int64_t k = 0; k < box.extent[2]; ++k) {
              EXPECT_EQ(((box.origin[0] + i) * 4 + box.origin[1] + j) * 5 + box.origin[2] + k, next++);
            }
          }
        }
      }
      EXPECT_EQ(next, end);
    }
  }
  EXPECT_EQ(cut_flat(Shape{}, 0, 1).size(), 1u);
}

// On the layout that saved a checkpoint, a rank opens its own part and the part with the tensors that tp replicates.
TEST_F(Checkpoints, EachRankLooksIntoItsOwnFile) {
  const fs::path path = save(directory_, {2, 2}, 1, 77, {}, true);
  EXPECT_EQ(read_checkpoint_manifest(path).fingerprint, (nlohmann::ordered_json{{"dp", 2}}));
  run_in_process({2, 2}, [&](Mesh& mesh, int) {
    Context context;
    ParameterRegistry registry(context, mesh);
    declare(registry, small_buckets(true));
    const auto boxes = local_boxes(registry, std::vector<NamedBuffer>{{"moment1", registry.make_state()}});
    const auto read = Checkpoint::open(path).read(context, boxes, {}, &mesh);
    EXPECT_GE(read.files, 1);
    EXPECT_LE(read.files, mesh.tp().rank() == 0 ? 1 : 2);
    uint64_t bytes = 0;
    for (const TensorBox& box : boxes) bytes += box.data.bytes();
    EXPECT_GE(read.bytes, bytes);
    EXPECT_LE(Checkpoint::open(path).read(context, boxes, {}, &mesh).bytes, 4u * (29 * 8 + 5 * 16 + 7 + 120));
  });
}

// From an array of another layout, the blocks around the needed elements are read, and their checksums compared.
TEST_F(Checkpoints, OnlyBlocksAroundTheNeededElementsAreRead) {
  const Shape shape{8192, 1024};  // 32 MiB
  Context context;
  const auto world = single_communicator(MeshAxis::World);
  const Tensor x = context.zeros(shape, DType::F32);
  for (int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = static_cast<float>(i % 65521);
  const TensorBox all{"master", "x", shape, {0, 0}, x};
  CheckpointWriter writer(directory_, context, *world);
  writer.start({.step = 1, .state = to_json(RunState{})}, arrays_of({&all, 1}));
  const Checkpoint checkpoint = Checkpoint::open(writer.finish().path);
  const Tensor rows = context.zeros({100, 1024}, DType::F32);
  EXPECT_EQ(checkpoint.read(context, {{"master", "x", shape, {1000, 0}, rows}}).bytes, uint64_t{2} << 20);
  EXPECT_EQ(std::memcmp(rows.raw(), x.data<float>() + 1000 * 1024, rows.bytes()), 0);
  const Tensor column = context.zeros({8192, 1}, DType::F32);
  EXPECT_EQ(checkpoint.read(context, {{"master", "x", shape, {0, 5}, column}}).bytes, uint64_t{32} << 20);
  for (int64_t i = 0; i < 8192; ++i) ASSERT_EQ(column.data<float>()[i], x.data<float>()[i * 1024 + 5]);
}

// A watchdog must see that long reads and writes progress.
TEST_F(Checkpoints, LongWorkShowsProgress) {
  const Shape shape{8192, 1024};  // 32 MiB
  std::atomic<int> signs = 0;
  const auto count = [&] { ++signs; };
  Context context;
  context.on_progress(count);
  const auto world = single_communicator(MeshAxis::World);
  const Tensor x = context.zeros(shape, DType::F32);
  CheckpointWriter writer(directory_, context, *world);
  signs = 0;
  writer.start({.step = 1, .state = to_json(RunState{})},
               arrays_of(std::vector<TensorBox>{{"master", "x", shape, {0, 0}, x}, {"master", "y", shape, {0, 0}, x}}));
  const fs::path path = writer.finish().path;
  // One sign when the memory of the copies is there, one for each tensor whose digest is taken and for each copy that
  // is queued, the digest's too; one when the directory is there and one when the tensors are copied, one for each copy
  // that is compared, one for every 8 MiB that are written, and one at the commit.
  EXPECT_EQ(signs, 1 + 2 + 3 + 1 + 1 + 2 + 2 * 4 + 1);
  signs = 0;
  Checkpoint::open(path).read(context, {{"master", "x", shape, {0, 0}, x}}, count);
  EXPECT_EQ(signs, 32);  // one sign for each MiB
  EXPECT_TRUE(latest_valid(directory_, count));
  EXPECT_EQ(signs, 32 + 64);
}

// Memory beyond the state itself is one piece of an array, here 1 of 40 MiB.
TEST_F(Checkpoints, ReadingTakesLittleMemory) {
  const Shape shape{10240, 1024};
  in_child([&] {
    Context context;
    const auto world = single_communicator(MeshAxis::World);
    CheckpointWriter writer(directory_, context, *world);
    const TensorBox x{"master", "x", shape, {0, 0}, context.zeros(shape, DType::F32)};
    writer.start({.step = 1, .state = to_json(RunState{})}, arrays_of({&x, 1}));
    writer.finish();
    return ChildResult::Passed;
  });
  const auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss << 10;
  };
  const auto result = in_child([&] {
    Context context;
    const int64_t before = resident();
    const Tensor x = context.zeros(shape, DType::F32);
    Checkpoint::open(checkpoint_path(directory_, 1)).read(context, {{"master", "x", shape, {0, 0}, x}});
    const auto state = static_cast<int64_t>(x.bytes());
    EXPECT_LE(resident() - before, 2 * state);
    EXPECT_GE(resident() - before, state / 2);  // it was measured
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}

TEST_F(Checkpoints, ADirectoryWithoutAManifestIsNotACheckpoint) {
  const fs::path path = save(directory_, {1, 1}, 5, 1);
  EXPECT_EQ(list_checkpoints(directory_), std::vector<fs::path>{path});
  fs::remove(path / "manifest.json");
  EXPECT_TRUE(list_checkpoints(directory_).empty());
  try {
    Checkpoint::open(path);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("not a committed checkpoint"), std::string::npos);
  }
  EXPECT_FALSE(latest_valid(directory_));
}

// A flipped bit or a cut file is found and named, and the checkpoint before is taken.
TEST_F(Checkpoints, DamageIsFoundAndThePreviousCheckpointIsTaken) {
  const fs::path older = save(directory_, {2, 1}, 5, 1), newer = save(directory_, {2, 1}, 6, 2);
  EXPECT_EQ(latest_valid(directory_)->path(), newer);
  const CheckpointManifest manifest = read_checkpoint_manifest(newer);
  const auto index = read_index(newer, manifest.files[1]);
  const StoredArray& array = index->arrays.at(0);
  flip_bits(newer / manifest.files[1].name, array.offset + 3, 16);
  try {
    verify_checkpoint(newer, manifest);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("rank-00001.h5"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(array.stretches.at(0).name), std::string::npos) << error.what();
  }
  EXPECT_EQ(latest_valid(directory_)->path(), older);
  fs::resize_file(older / "rank-00000.h5", 100);
  EXPECT_FALSE(latest_valid(directory_));
}

// Every byte of the index is checked: a digit that changed into another one may still make sense.
TEST_F(Checkpoints, ADamagedIndexIsNamed) {
  const fs::path path = save(directory_, {1, 1}, 5, 1);
  const CheckpointFile stored = read_checkpoint_manifest(path).files.at(0);
  for (uint64_t at = 0; at < stored.index.bytes; ++at) {
    flip_bits(path / stored.name, stored.index.offset + at, 1);
    const std::string error = error_of([&] { read_index(path, stored); });
    EXPECT_NE(error.find("rank-00000.h5: its index is damaged"), std::string::npos) << at << ": " << error;
    flip_bits(path / stored.name, stored.index.offset + at, 1);
  }
  EXPECT_EQ(error_of([&] { read_index(path, stored); }), "no error");
}

TEST_F(Checkpoints, MutatedManifestsAreDataErrors) {
  const fs::path path = save(directory_, {1, 1}, 5, 1);
  const std::string text = read_file(path / "manifest.json");
  std::mt19937 random(3);
  for (int i = 0; i < 400; ++i) {
    std::string changed = text;
    for (int k = 0; k < 1 + i % 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    if (i % 7 == 0) changed.resize(random() % changed.size());
    if (changed == text) continue;
    write_file_atomically(path / "manifest.json", changed);
    EXPECT_THROW(Checkpoint::open(path), DataError) << i;
  }
}

TEST_F(Checkpoints, MissingAndMisshapenTensorsAreNamed) {
  const fs::path path = save(directory_, {1, 1}, 5, 1);
  Context context;
  const Checkpoint checkpoint = Checkpoint::open(path);
  const auto message = [&](const std::string& name, const Shape& shape) {
    const std::vector<int64_t> origin(static_cast<size_t>(shape.rank()), 0);
    try {
      checkpoint.read(context, {{"master", name, shape, origin, context.empty(shape, DType::F32)}});
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("norm", {7}), "");
  EXPECT_NE(message("norm", {8}).find("norm is f32[7] in the checkpoint and f32[8]"), std::string::npos);
  EXPECT_NE(message("bias", {3}).find("bias has 0 of 3 elements"), std::string::npos) << message("bias", {3});
}

// The previous checkpoint stays, nothing half-written stays, and every rank throws the reason.
TEST_F(Checkpoints, AFailureOnOneRankLosesNothing) {
  const fs::path path = save(directory_, {2, 1}, 5, 1);
  // The write fails on one rank alone.
  const MeshLayout layout{2, 1};
  run_in_process(layout, [&](Mesh& mesh, int rank) {
    Context context;
    ParameterRegistry registry(context, mesh);
    declare(registry);
    CheckpointWriter writer(directory_, context, mesh.world());
    auto arrays = owned_arrays(registry, std::vector<NamedBuffer>{{"master", registry.master()}});
    if (rank == 1) arrays.at(0).dtype = DType::I32;  // cannot be stored
    writer.start({.step = 6, .state = to_json(RunState{})}, arrays);
    try {
      writer.finish();
      ADD_FAILURE() << "rank " << rank;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("rank 1 on "), std::string::npos) << error.what();
    }
  });
  EXPECT_EQ(list_checkpoints(directory_), std::vector<fs::path>{path});
  EXPECT_FALSE(fs::exists(unfinished_path(checkpoint_path(directory_, 6), 0)));
  verify_checkpoint(path, read_checkpoint_manifest(path));
}

TEST(Retention, KeepsLatestEpochsAndBest) {
  std::vector<KeptCheckpoint> all;
  for (int64_t s = 1; s <= 9; ++s) all.push_back({.step = s, .epoch_end = s % 3 == 0});
  const auto left = [&](const RetentionRule& rule) {
    std::vector<int64_t> steps;
    const auto gone = superseded(all, rule);
    for (const auto& c : all) {
      const bool lost = std::ranges::any_of(gone, [&](const auto& g) { return g.step == c.step; });
      if (!lost) steps.push_back(c.step);
    }
    return steps;
  };
  EXPECT_EQ(left({.keep_last = 2}), (std::vector<int64_t>{8, 9}));
  EXPECT_EQ(left({.keep_last = 0}), (std::vector<int64_t>{9}));  // one checkpoint is always left
  EXPECT_EQ(left({.keep_last = 1, .keep_epochs = 2, .best_step = 4}), (std::vector<int64_t>{4, 6, 9}));
  EXPECT_EQ(left({.keep_last = 100}).size(), 9u);
  EXPECT_TRUE(superseded({}, {.keep_last = 1}).empty());
  for (int64_t s = 7; s <= 9; ++s) all[static_cast<size_t>(s - 1)].healthy = false;
  EXPECT_EQ(left({.keep_last = 2}), (std::vector<int64_t>{6, 8, 9}));
}

TEST_F(Checkpoints, RetentionDeletesWhatIsSuperseded) {
  for (int64_t s = 1; s <= 4; ++s) save(directory_, {1, 1}, s, 1, {.epoch_end = s == 2});
  apply_retention(directory_, {.keep_last = 1, .keep_epochs = 1});
  EXPECT_EQ(list_checkpoints(directory_),
            (std::vector<fs::path>{checkpoint_path(directory_, 2), checkpoint_path(directory_, 4)}));
}

TEST_F(Checkpoints, AverageIsTheMean) {
  const std::vector<fs::path> paths = {save(directory_, {1, 1}, 1, 1), save(directory_, {2, 1}, 2, 2)};
  const fs::path out = directory_ / "mean";
  average_checkpoints(checkpoints_to_average({directory_}, 0), out);
  Context context;
  const auto read = [&](const fs::path& path) {
    const Tensor t = context.empty({29, 8}, DType::F32);
    Checkpoint::open(path).read(context, {{"master", "embedding", {29, 8}, {0, 0}, t}});
    return t;
  };
  const Tensor a = read(paths[0]), b = read(paths[1]), mean = read(out);
  for (int i = 0; i < 104; ++i) {
    EXPECT_FLOAT_EQ(mean.data<float>()[i], (a.data<float>()[i] + b.data<float>()[i]) / 2);
  }
  EXPECT_EQ(read_attachment(out, read_checkpoint_manifest(out), "tokenizer.json"), "{}");
  EXPECT_THROW(average_checkpoints(paths, out), DataError);  // an average never replaces a checkpoint
}

}  // namespace
}  // namespace weft
