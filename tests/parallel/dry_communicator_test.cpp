// SPDX-License-Identifier: Apache-2.0
#include "parallel/local/dry_communicator.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(RingBytes, FollowTheFormulas) {
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::AllReduce, 4, 1000), 1500);
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::ReduceScatter, 4, 1000), 750);
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::AllGather, 4, 1000), 750);
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::AllToAll, 4, 1000), 750);
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::Broadcast, 4, 1000), 1000);
  EXPECT_DOUBLE_EQ(ideal_bytes(Collective::Barrier, 4, 1000), 0);
  for (int c = 0; c < kCollectives; ++c) EXPECT_EQ(ideal_bytes(static_cast<Collective>(c), 1, 1000), 0);
}

TEST(DryMesh, CountsCallsAndBytesOfEachAxisIntoTheLedger) {
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = dry_mesh({.dp = 4, .tp = 2}, context, 5);
  EXPECT_EQ(mesh.world().size(), 8);
  EXPECT_EQ(mesh.dp().rank(), 2);
  EXPECT_EQ(mesh.tp().rank(), 1);
  const Tensor whole = context.empty({8, 100}, DType::F32), quarter = context.empty({2, 100}, DType::F32);
  mesh.dp().all_reduce(whole);
  mesh.dp().start_all_reduce(quarter, ReduceOp::Max)->wait();
  mesh.dp().reduce_scatter(whole, quarter);
  mesh.tp().all_gather(context.empty({100}, DType::BF16), context.empty({200}, DType::BF16));
  mesh.world().broadcast(quarter, 7);
  mesh.world().barrier();

  const auto& entries = context.ledger().entries();
  ASSERT_EQ(entries.size(), 5U);
  EXPECT_EQ(entries.at("dp.all_reduce").calls, 2);
  EXPECT_DOUBLE_EQ(entries.at("dp.all_reduce").moved, 1.5 * (3200 + 800));
  EXPECT_DOUBLE_EQ(entries.at("dp.reduce_scatter").moved, 0.75 * 3200);
  EXPECT_DOUBLE_EQ(entries.at("tp.all_gather").moved, 0.5 * 400);
  EXPECT_DOUBLE_EQ(entries.at("world.broadcast").moved, 800);
  EXPECT_EQ(entries.at("world.barrier").calls, 1);
  EXPECT_EQ(context.ledger().total().bytes, 0);  // network bytes are not memory bytes
  EXPECT_DOUBLE_EQ(context.ledger().total().moved, 6000 + 2400 + 200 + 800);
  EXPECT_EQ(mesh.dp().traffic()[Collective::AllReduce].bytes, 4000);
}

TEST(DryMesh, KeepsHostValuesAndItsOwnPiece) {
  Context meta({.kind = DeviceKind::Meta}), host;
  Mesh mesh = dry_mesh({.dp = 3}, meta, 1);
  double value = 7;
  value = mesh.dp().all_reduce_host(value, ReduceOp::Sum);
  EXPECT_EQ(value, 7);
  EXPECT_EQ(mesh.world().broadcast_text("decided", 1), "decided");
  const Tensor whole = host.zeros({3}, DType::I32), piece = host.zeros({1}, DType::I32);
  piece.data<int32_t>()[0] = 5;
  mesh.dp().all_gather(piece, whole);
  EXPECT_EQ(whole.data<int32_t>()[1], 5);
  whole.data<int32_t>()[1] = 6;
  mesh.dp().reduce_scatter(whole, piece);
  EXPECT_EQ(piece.data<int32_t>()[0], 6);
  const Tensor received = host.zeros({3}, DType::I32);
  mesh.dp().all_to_all(whole, received);
  EXPECT_EQ(received.data<int32_t>()[0], 0);
  EXPECT_EQ(received.data<int32_t>()[1], 6);
}

TEST(DryMesh, ChecksWhatARealOneChecks) {
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = dry_mesh({.dp = 2, .tp = 2}, context);
  const Tensor three = context.empty({3}, DType::F32), four = context.empty({4}, DType::F32);
  try {
    mesh.dp().all_gather(three, four);
    FAIL();
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "all_gather over dp (rank 0 of 2): f32[3] does not fit f32[4]");
  }
  EXPECT_THROW(mesh.tp().reduce_scatter(three, four), InternalError);
  EXPECT_THROW(mesh.tp().all_reduce(context.empty({2}, DType::BF16)), InternalError);
  EXPECT_THROW(mesh.tp().reduce_scatter(context.empty({2}, DType::BF16), context.empty({1}, DType::BF16)),
               InternalError);
  EXPECT_THROW(mesh.dp().all_to_all(three, context.empty({3}, DType::F32)), InternalError);
  EXPECT_THROW(mesh.world().broadcast(three, 4), InternalError);
  EXPECT_THROW(dry_mesh({.dp = 2}, context, 2), InternalError);
  EXPECT_TRUE(context.ledger().entries().empty());
}

}  // namespace
}  // namespace weft
