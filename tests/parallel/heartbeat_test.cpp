// SPDX-License-Identifier: Apache-2.0
// What the watchdogs read: the beats of a rank, the collectives of its device, and the page of its node.
#include "parallel/watch/heartbeat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "parallel/local/in_process.h"
#include "parallel/watch/node_status.h"

namespace weft {
namespace {

TEST(Heartbeat, TakesItsDeviceWithItToOtherMemory) {
  Heartbeat heartbeat;
  heartbeat.device().compute_on(2);
  const auto elsewhere = std::make_shared<Heartbeat::State>();
  heartbeat.move_to(*elsewhere, elsewhere);
  EXPECT_EQ(Heartbeat::read(*elsewhere).device.device, 2);
}

TEST(Heartbeat, BeatsWhereAPhaseBeginsAndWhereItEnds) {
  Heartbeat heartbeat;
  const auto beats = [&] { return heartbeat.read().progress_count; };
  {
    const Heartbeat::Scope saving(heartbeat, RunPhase::Save);
    EXPECT_EQ(beats(), 1U);
  }
  EXPECT_EQ(beats(), 2U);
}

TEST(NodeStatus, IsGoneWithItsProcesses) {
  auto page = NodeStatus::create(1);
  ASSERT_NE(page, nullptr);
  const int descriptor = page->descriptor();
  EXPECT_NE(NodeStatus::open(getpid(), descriptor, 1), nullptr);
  page->close_descriptor();
  EXPECT_EQ(NodeStatus::open(getpid(), descriptor, 1), nullptr);
  EXPECT_EQ(NodeStatus::open(getpid(), STDIN_FILENO, 1), nullptr);  // a file of another kind
}

TEST(DeviceProgress, TheFirstThatWasQueuedOnAnyAxisIsTheOneToComeTo) {
  Heartbeat heartbeat;
  DeviceProgress& progress = heartbeat.device();
  std::array<std::shared_ptr<std::atomic<uint64_t>>, 2> done;
  for (auto& count : done) count = std::make_shared<std::atomic<uint64_t>>(0);
  progress.queue(MeshAxis::World, {});  // no device counts on this axis
  EXPECT_FALSE(progress.awaited());
  progress.watch(MeshAxis::Dp, done[0]);
  progress.watch(MeshAxis::Tp, done[1]);
  const std::array order = {MeshAxis::Tp, MeshAxis::Dp, MeshAxis::Dp, MeshAxis::Tp};
  for (int i = 0; i < 4; ++i) progress.queue(order[i], {.collective = Collective::AllGather, .number = 10 + i});
  for (int i = 0; i < 4; ++i) {
    const auto awaited = progress.awaited();
    ASSERT_TRUE(awaited);
    EXPECT_EQ(awaited->axis, order[i]);
    EXPECT_EQ(awaited->what.number, 10 + i);
    done[order[i] == MeshAxis::Tp ? 1 : 0]->fetch_add(1);
    EXPECT_TRUE(progress.look());
    EXPECT_FALSE(progress.look());
  }
  EXPECT_FALSE(progress.awaited());
}

// More collectives are under way than have a name: the next one is unknown, but it is reported that there is one.
TEST(DeviceProgress, CountsMoreThanItNames) {
  Heartbeat heartbeat;
  heartbeat.device().watch(MeshAxis::Dp, std::make_shared<std::atomic<uint64_t>>(0));
  for (int i = 0; i < 5000; ++i) heartbeat.device().queue(MeshAxis::Dp, {.number = 1 + i});
  const auto awaited = heartbeat.device().awaited();
  ASSERT_TRUE(awaited);
  EXPECT_EQ(awaited->place, 1);
  EXPECT_EQ(awaited->what.number, 0);
  EXPECT_EQ(heartbeat.read().device.queued[1], 5000);
}

// Every communicator beats; an axis has the same numbers on all its ranks.
TEST(Heartbeat, CollectivesBeat) {
  run_in_process({.dp = 2, .tp = 2}, [](Mesh& mesh, int) {
    Context context;
    const uint64_t before = mesh.heartbeat().read().progress_count;
    mesh.dp().all_reduce(context.zeros({3}, DType::F32));
    mesh.tp().barrier();
    mesh.dp().broadcast(context.zeros({3}, DType::F32), 1);
    const Heartbeat::Snapshot now = mesh.heartbeat().read();
    EXPECT_EQ(now.begun, (std::array<int64_t, kMeshAxes>{0, 2, 1}));
    EXPECT_EQ(now.group[1], mesh.tp().rank());
    EXPECT_EQ(now.ranks, (std::array<int32_t, kMeshAxes>{4, 2, 2}));
    EXPECT_EQ(now.collective, Collective::Broadcast);
    EXPECT_FALSE(now.waiting);
    EXPECT_EQ(now.progress_count, before + 9);  // begins, waits, continues
    EXPECT_GE(mesh.waited_seconds(), 0);
  });
}

}  // namespace
}  // namespace weft
