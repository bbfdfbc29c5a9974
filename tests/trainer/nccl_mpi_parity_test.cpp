// SPDX-License-Identifier: Apache-2.0
// The processes of this run, each with a different CUDA device and divided in every way that fits their number, train
// as one rank does on the CPU.
#include <gtest/gtest.h>

#include "parallel/mpi/communicator.h"
#include "parallel/nccl/communicator.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

std::vector<Layout> layouts_of(int ranks) {
  if (ranks == 2) {
    return {{.dp = 2},
            {.dp = 2, .zero = ZeroStage::Gradients, .micro_rows = 60},
            {.tp = 2},
            {.tp = 2, .sequence = true, .recompute = Recompute::Block}};
  }
  return {{.dp = 2, .tp = 2, .zero = ZeroStage::Optimizer, .sequence = true}};
}

TEST(NcclMpiParity, LayoutsGiveTheRunOfOneRankOnTheCpu) {
  int ranks = 0, rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (const bool seq2seq : {false, true}) {
    const LayoutCase c{.seq2seq = seq2seq, .vocabulary = 200, .steps = 5};
    Context cpu;
    Mesh alone = Mesh::single();
    const LayoutRun one = test::train(c, {}, alone, cpu);
    for (const Layout& layout : layouts_of(ranks)) {
      Context context({DeviceKind::Cuda, rank});
      Mesh mesh = nccl_mesh({.dp = layout.dp, .tp = layout.tp}, rank, mpi_host_plane, context);
      const LayoutRun run = test::train(c, layout, mesh, context);
      ASSERT_EQ(run.losses.size(), one.losses.size());
      for (size_t i = 0; i < one.losses.size(); ++i) {
        EXPECT_NEAR(run.losses[i], one.losses[i], 1e-3 * one.losses[i]) << layout.name() << " step " << i;
        EXPECT_NEAR(run.norms[i], one.norms[i], 1e-3 * one.norms[i]) << layout.name() << " step " << i;
      }
      EXPECT_GT(run.dp_moved + run.tp_moved, 0);
      EXPECT_EQ(run.downloads, c.steps) << "the host waits once a step";
    }
  }
}

}  // namespace
}  // namespace weft
