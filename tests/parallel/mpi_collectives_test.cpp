// SPDX-License-Identifier: Apache-2.0
// Every collective over MPI, on world and on the axes of every mesh of these ranks, against sums computed here.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "parallel/local/dry_communicator.h"
#include "parallel/mpi/communicator.h"
#include "parallel/mpi/node.h"
#include "tests/parallel/fixture.h"

namespace weft {
namespace {

using namespace test;

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

TEST(MpiCollectives, AreRightOnEveryAxisOfEveryMesh) {
  const int ranks = world_size();
  for (int tp = 1; tp <= ranks; ++tp) {
    if (ranks % tp != 0) continue;
    const Mesh mesh = mpi_mesh({.dp = ranks / tp, .tp = tp});
    ASSERT_EQ(mesh.dp().rank() * tp + mesh.tp().rank(), mesh.world().rank());
    Context context;
    for (Communicator* c : {&mesh.world(), &mesh.dp(), &mesh.tp()}) check_all(context, *c);
  }
}

std::unique_ptr<Communicator> communicator(const MpiMessages& messages) {
  return mpi_communicator(MeshAxis::World, MpiComm::duplicate(MPI_COMM_WORLD), messages);
}

// Messages beyond what one call can count are sent in pieces, and their sums in chunks, even if one call could
// count the share of a rank.
TEST(MpiCollectives, GoInPieces) {
  Context context;
  for (const int64_t max_count : {1, 3, 100}) {
    const auto c = communicator({.max_count = max_count});
    for (const int64_t elements : {0, 1, 3, 7, 129}) {
      for (const DType dtype : {DType::F32, DType::I64}) check_reductions(context, *c, dtype, elements);
      for (const DType dtype : {DType::BF16, DType::F64}) check_copies(context, *c, dtype, elements);
    }
  }
}

constexpr MpiMessages kSmallChunks{.chain_bytes = 1, .chunk_bytes = 64},
    kLargerChunks{.chain_bytes = 1, .chunk_bytes = 4096};

// Messages that are no multiple of a chunk, one element longer or shorter than some chunks, and many windows long.
TEST(MpiChain, SumsMessagesOfAnyLength) {
  Context context;
  const auto c = communicator(kSmallChunks);
  for (const DType dtype : {DType::F32, DType::F64, DType::I32, DType::I64}) {
    for (const int64_t elements : {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1500}) {
      check_reductions(context, *c, dtype, elements);
    }
  }
}

// Numbers whose sum depends on the order: all ranks must hold ((x0 + x1) + x2) + ..., bit for bit.
TEST(MpiChain, AddsInRankOrder) {
  const auto x = [](int rank, int64_t i) {
    return std::ldexp(1.0F + 0.001F * static_cast<float>(i % 97), static_cast<int>((rank * 11 + i) % 40)) *
           ((rank + i) % 3 == 0 ? -1.0F : 1.0F);
  };
  Context context;
  const auto c = communicator(kSmallChunks);
  const int n = c->size(), me = c->rank();
  const auto in_rank_order = [&](int64_t i) {
    float sum = x(0, i);
    for (int r = 1; r < n; ++r) sum += x(r, i);
    return sum;
  };
  const int64_t elements = 1001;
  const Tensor sum = context.empty({elements}, DType::F32);
  put(context, sum, [&](int64_t i) { return x(me, i); });
  c->all_reduce(sum);
  expect(context, sum, in_rank_order, "sum");

  const Tensor whole = context.empty({elements * n}, DType::F32), mine = context.empty({elements}, DType::F32);
  put(context, whole, [&](int64_t i) { return x(me, i); });
  c->reduce_scatter(whole, mine);
  expect(
      context, mine, [&](int64_t i) { return in_rank_order(me * elements + i); }, "scatter");
  expect(
      context, whole, [&](int64_t i) { return x(me, i); }, "what was scattered");
}

// More sums at once than are advanced together; one is dropped, others are waited for in another order than begun.
TEST(MpiChain, SumsOverlapOneAnother) {
  Context context;
  check_overlap(context, {{.dp = world_size()}, communicator({})->rank(), [](const AxisPlace& place) {
                            return mpi_communicator(place.axis, MpiComm::split(MPI_COMM_WORLD, place.group, place.rank),
                                                    kLargerChunks);
                          }});
  const auto c = communicator(kSmallChunks);
  const Tensor kept = filled(context, 1000, DType::F32, c->rank()), dropped = filled(context, 1000, DType::F32, 0);
  auto first = c->start_all_reduce(kept, ReduceOp::Max);
  c->start_all_reduce(dropped, ReduceOp::Sum).reset();
  first->wait();
  expect(
      context, kept, [&](int64_t i) { return largest_of(c->size(), i); }, "maximum");
  expect(
      context, dropped, [&](int64_t i) { return c->size() * value(0, i); }, "dropped");
}

// Sums of the size from which they are sent along the chain by default, and around it.
TEST(MpiChain, LargeSums) {
  Context context;
  const auto c = communicator({});
  for (const int64_t elements : {(int64_t{1} << 18) - 1, int64_t{1} << 18, (int64_t{3} << 18) + 5}) {
    check_reductions(context, *c, DType::F32, elements);
  }
}

TEST(MpiCollectives, OverlapOneAnother) {
  Context context;
  check_overlap(context, mpi_mesh({.dp = world_size()}));
}

TEST(MpiCollectives, TheDestructorOfAStartedOneWaits) {
  Context context;
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  const Tensor t = filled(context, 100'000, DType::F32, mesh.dp().rank());
  { const auto dropped = mesh.dp().start_all_reduce(t, ReduceOp::Sum); }
  expect(
      context, t, [&](int64_t i) { return sum_of(mesh.dp().size(), i); }, "sum");
}

TEST(MpiCollectives, HostValuesAndText) {
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  Communicator& c = mesh.world();
  std::vector<double> control(3 + static_cast<size_t>(c.size()), 0);
  control[0] = 0.5, control[3 + static_cast<size_t>(c.rank())] = 1.0 + c.rank();
  c.all_reduce_host(control, ReduceOp::Sum);
  EXPECT_EQ(control[0], 0.5 * c.size());
  for (int r = 0; r < c.size(); ++r) EXPECT_EQ(control[3 + static_cast<size_t>(r)], 1.0 + r);
  const std::vector<double> all = c.gather_host(std::array<double, 2>{1.0 + c.rank(), -1});
  ASSERT_EQ(all.size(), c.rank() == 0 ? 2 * static_cast<size_t>(c.size()) : 0);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i % 2 == 0 ? 1.0 + static_cast<double>(i / 2) : -1);
  for (int root = 0; root < c.size(); ++root) {
    const std::string told(1000, 'x');
    EXPECT_EQ(c.broadcast_text(c.rank() == root ? told : "", root), told);
    EXPECT_EQ(c.broadcast_text("", root), "");
  }
}

TEST(MpiCollectives, RefusalsNameAxisAndRank) {
  Context context;
  check_refusals(context, mpi_mesh({.dp = world_size()}).dp());
}

TEST(MpiCollectives, CountWhatADryMeshCounts) {
  Context context;
  check_counts(context, mpi_mesh({.dp = world_size()}), {.dp = world_size()});
}

TEST(MpiNode, RanksShareAPage) {
  const Mesh mesh = mpi_mesh({.dp = world_size()});
  const NodeRanks node = ranks_of_this_node();
  ASSERT_EQ(node.ranks, world_size());
  ASSERT_NE(node.page, nullptr);
  node.page->slot(node.rank).rank = mesh.world().rank();
  node.page->slot(node.rank).pid = getpid();
  mesh.world().barrier();
  const auto all = node.page->read();
  ASSERT_EQ(all.size(), static_cast<size_t>(node.ranks));
  for (int r = 0; r < node.ranks; ++r) EXPECT_EQ(all[r].rank, r);
  double first = node.page->first_to_report() ? 1 : 0;
  first = mesh.world().all_reduce_host(first, ReduceOp::Sum);
  EXPECT_EQ(first, 1);  // exactly one rank
}

}  // namespace
}  // namespace weft
