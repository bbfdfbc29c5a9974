// SPDX-License-Identifier: Apache-2.0
// Saves run beside the work of the ranks: a checkpoint holds the values of the moment its save began, nothing is
// committed before all ranks have written, and a save that is under way can be given up.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "checkpoint/run_state.h"
#include "kernels/ops/elementwise.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/small_disk.h"

namespace weft {
namespace {

using namespace test;

using testing::HasSubstr;

// A disk that takes nothing until it is released: it blocks all threads except the one that makes it.
class HeldDisk {
 public:
  explicit HeldDisk(Context& context) {
    context.on_progress([this] { pass(); });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }
  // Returns once the thread is held again.
  void let_one_pass() {
    std::unique_lock lock(mutex_);
    const int before = waiting_;
    ++permits_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return waiting_ > before; });
  }
  void await_someone() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  void pass() {
    if (std::this_thread::get_id() == owner_) return;
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return released_ || permits_ > 0; });
    if (!released_) --permits_;
  }
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, permits_ = 0;
  bool released_ = false;
};

// A rank with a model and its checkpoint writer.
struct SavingRank {
  SavingRank(Mesh& mesh, const fs::path& directory, std::chrono::milliseconds patience = std::chrono::minutes(1))
      : registry(context, mesh), writer(directory, context, mesh.world(), patience) {
    declare(registry);
    registry.initialise(5);
  }
  void start(int64_t step, std::function<void()> after_commit = {}) {
    writer.start({.step = step, .state = to_json(RunState{})},
                 owned_arrays(registry, std::vector<NamedBuffer>{{"master", registry.master()}}),
                 std::move(after_commit));
  }
  // The control all-reduce of a step.
  std::optional<SavedCheckpoint> step(Communicator& world) {
    const SaveStates mine = writer.states();
    std::array<double, 3> sums = {mine.written, mine.failed, mine.committed};
    world.all_reduce_host(sums, ReduceOp::Sum);
    return writer.advance({.written = sums[0], .failed = sums[1], .committed = sums[2]});
  }

  Context context;
  ParameterRegistry registry;
  CheckpointWriter writer;
};

class SaveBeside : public Checkpoints {};

// If no copy has begun when the copied tensors are about to change, the thread that changes them copies them first.
TEST(Snapshots, AwaitingSnapshotsMakesTheCopies) {
  Context context;
  const int64_t elements = 3 << 20;
  const Tensor x = context.zeros({elements}, DType::F32), copy = context.zeros({elements}, DType::F32);
  fill(context, x, 7);
  const std::span<std::byte> to(copy.raw(), copy.bytes());
  Snapshot snapshot(context, {&x, 1}, {&to, 1});
  await_snapshots(context);
  fill(context, x, 1);
  snapshot.wait();
  for (const float value : copy.span<float>()) ASSERT_EQ(value, 7);
}

TEST_F(SaveBeside, NothingIsCommittedBeforeEveryRankHasWritten) {
  run_in_process({3, 1}, [&](Mesh& mesh, int rank) {
    SavingRank me(mesh, directory_);
    std::optional<HeldDisk> disk;
    if (rank == 1) disk.emplace(me.context);
    me.start(4);
    if (disk) disk->await_someone();
    for (int i = 0; i < 50; ++i) {
      ASSERT_FALSE(me.step(mesh.world())) << "committed without a part";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(committed_directories(directory_).empty());
    mesh.world().barrier();
    if (disk) disk->release();
    std::optional<SavedCheckpoint> saved;
    while (!saved) saved = me.step(mesh.world());
    EXPECT_EQ(saved->path, checkpoint_path(directory_, 4));
    EXPECT_FALSE(me.writer.busy());
    EXPECT_TRUE(rank != 0 || saved->bytes > 4 * (29 * 8 + 5 * 16 + 7 + 120));
    mesh.world().barrier();
    if (rank == 1) me.context.on_progress({});
  });
  verify_checkpoint(checkpoint_path(directory_, 4), read_checkpoint_manifest(checkpoint_path(directory_, 4)));
}

TEST_F(SaveBeside, AllRanksFinishTogether) {
  run_in_process({4, 1}, [&](Mesh& mesh, int rank) {
    SavingRank me(mesh, directory_);
    for (const int64_t step : {1, 2}) {
      me.start(step);
      if (rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const SavedCheckpoint saved = me.writer.finish();
      EXPECT_EQ(saved.path, checkpoint_path(directory_, step));
      EXPECT_TRUE(has_manifest(checkpoint_path(directory_, step)));
      if (rank == 0) {
        EXPECT_GT(std::min({saved.copy_seconds, saved.write_seconds, saved.commit_seconds}), 0);
      }
      mesh.world().barrier();
    }
  });
}

// A rank that waits for its disk beats, so that a slow disk is no hang; once the disk has taken nothing for long, the
// rank is as still as its disk.
TEST_F(SaveBeside, ADiskThatTakesNothingStopsTheHeartbeat) {
  run_in_process({2, 1}, [&](Mesh& mesh, int rank) {
    SavingRank me(mesh, directory_, std::chrono::milliseconds(100));
    std::optional<HeldDisk> disk;
    if (rank == 1) disk.emplace(me.context);
    me.start(4);
    std::thread watcher;
    if (disk) {
      disk->await_someone();
      watcher = std::thread([&] {
        const auto beats = [&] { return mesh.heartbeat().read().progress_count; };
        bool still = false;
        for (int i = 0; i < 50 && !still; ++i) {
          const uint64_t before = beats();
          std::this_thread::sleep_for(std::chrono::milliseconds(400));
          still = beats() == before;
        }
        EXPECT_TRUE(still) << "the rank beats while nothing is written";
        disk->release();
      });
    }
    EXPECT_EQ(me.writer.finish().path, checkpoint_path(directory_, 4));
    if (watcher.joinable()) watcher.join();
    mesh.world().barrier();
    if (rank == 1) me.context.on_progress({});
  });
}

// Rank 1 lets rank 0's disk take something now and then: rank 0 never waits for its disk as long as its patience lasts,
// though longer on the whole, and so never stops taking part in the steps of rank 1.
TEST_F(SaveBeside, ASlowDiskIsNotStill) {
  std::optional<HeldDisk> disk;
  run_in_process({2, 1}, [&](Mesh& mesh, int rank) {
    SavingRank me(mesh, directory_, std::chrono::milliseconds(400));
    if (rank == 0) disk.emplace(me.context);
    std::vector<NamedBuffer> buffers;  // the disk takes one at a time
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) buffers.push_back({name, me.registry.master()});
    me.writer.start({.step = 4, .state = to_json(RunState{})}, owned_arrays(me.registry, buffers));
    mesh.world().barrier();
    if (rank == 0) {
      EXPECT_EQ(me.writer.finish().path, checkpoint_path(directory_, 4));
    } else {
      disk->await_someone();
      for (int piece = 0; piece < 4; ++piece) {
        disk->let_one_pass();
        for (int i = 0; i < 4; ++i) EXPECT_FALSE(me.step(mesh.world()));
      }
      disk->release();
      while (!me.step(mesh.world())) continue;
    }
    mesh.world().barrier();
    if (rank == 0) me.context.on_progress({});
  });
}

// The error names the lowest rank that failed, and the checkpoint parts of all ranks are removed.
TEST_F(SaveBeside, AFailedRankEndsTheSaveOfAll) {
  run_in_process({3, 1}, [&](Mesh& mesh, int rank) {
    SavingRank me(mesh, directory_);
    auto arrays = owned_arrays(me.registry, std::vector<NamedBuffer>{{"master", me.registry.master()}});
    if (rank > 0) arrays.at(0).dtype = DType::I32;  // cannot be stored
    me.writer.start({.step = 6, .state = to_json(RunState{})}, arrays);
    while (rank > 0 && me.writer.states().failed == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    mesh.world().barrier();  // both have failed
    const std::string error = error_of([&] {
      while (!me.step(mesh.world())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    EXPECT_THAT(error, HasSubstr("step-00000006 was not saved: rank 1 on "));
    EXPECT_FALSE(me.writer.busy());
    mesh.world().barrier();
    EXPECT_TRUE(fs::is_empty(directory_));
    mesh.world().barrier();
    me.start(7);
    EXPECT_EQ(me.writer.finish().path, checkpoint_path(directory_, 7));
  });
}

// Retention runs after the commit, and does not keep the rank from its work.
TEST_F(SaveBeside, WhatComesAfterTheCommitRunsBesideTheRank) {
  Mesh mesh = Mesh::single();
  SavingRank me(mesh, directory_);
  std::optional<bool> was_there;
  std::thread::id thread;
  me.start(3, [&] {
    was_there = has_manifest(checkpoint_path(directory_, 3));
    thread = std::this_thread::get_id();
    throw DataError("this is a warning");
  });
  EXPECT_EQ(me.writer.finish().path, checkpoint_path(directory_, 3));
  EXPECT_EQ(was_there, true);
  EXPECT_NE(thread, std::this_thread::get_id());
}

// The thread is held before it copies, so that the copy has other bits than what was to be copied.
TEST_F(SaveBeside, ACopyOfOtherBitsIsNotWritten) {
  run_in_process({1, 1}, [&](Mesh& mesh, int) {
    SavingRank me(mesh, directory_);
    HeldDisk disk(me.context);
    me.start(4);
    disk.await_someone();
    reinterpret_cast<uint8_t*>(me.registry.master().data.raw())[77] ^= 1;
    disk.release();
    const std::string said = error_of<DataError>([&] { me.writer.finish(); });
    EXPECT_THAT(said, HasSubstr("rank 0 on "));
    EXPECT_THAT(said, HasSubstr("the copy of the state that was to be saved has other bits"));
    me.context.on_progress({});
  });
  EXPECT_TRUE(committed_directories(directory_).empty());
}

// A run that ends by an error does not wait for its save: of two hundred tensors, which a slow disk takes one by one,
// most are never written, and the written ones do not look like a checkpoint.
TEST_F(SaveBeside, AnAbandonedSaveEndsAtOnce) {
  constexpr int kTensors = 200;
  std::atomic<int> written = 0;
  {
    Context context;
    const auto world = single_communicator(MeshAxis::World);
    const std::thread::id owner = std::this_thread::get_id();
    context.on_progress([&] {
      if (std::this_thread::get_id() == owner) return;
      ++written;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    const Tensor x = context.zeros({16}, DType::F32);
    std::vector<TensorBox> boxes;
    for (int i = 0; i < kTensors; ++i) boxes.push_back({"master", std::to_string(i), {16}, {0}, x});
    CheckpointWriter writer(directory_, context, *world);
    writer.start({.step = 1, .state = to_json(RunState{})}, arrays_of(boxes));
    while (written == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_LT(written, kTensors / 2);
  EXPECT_TRUE(committed_directories(directory_).empty());
}

#ifndef __SANITIZE_ADDRESS__  // the address sanitizer keeps freed memory for a while
// A run that has begun does not end later because this memory is missing.
TEST_F(SaveBeside, TheMemoryOfCopiesIsTakenBeforeTheFirstSave) {
  const auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss << 10;
  };
  const auto result = in_child([&] {
    Context context;
    const auto world = single_communicator(MeshAxis::World);
    const Shape shape{10240, 1024};
    const Tensor x = context.zeros(shape, DType::F32);
    const std::vector<TensorBox> boxes = {{"master", "x", shape, {0, 0}, x}};
    CheckpointWriter writer(directory_, context, *world);
    const int64_t before = resident();
    writer.reserve(arrays_of(boxes));
    const int64_t reserved = resident();
    EXPECT_GE(reserved - before, static_cast<int64_t>(x.bytes()) * 9 / 10);
    for (int64_t step = 1; step <= 3; ++step) {
      writer.start({.step = step, .state = to_json(RunState{})}, arrays_of(boxes));
      writer.finish();
    }
    EXPECT_LE(resident() - reserved, static_cast<int64_t>(x.bytes()) / 4);
    return ChildResult::Passed;
  });
  EXPECT_EQ(result, ChildResult::Passed);
}
#endif

}  // namespace
}  // namespace weft
