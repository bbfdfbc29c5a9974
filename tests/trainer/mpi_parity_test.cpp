// SPDX-License-Identifier: Apache-2.0
// The ranks of this run, divided in every way that fits their number, train as one rank does.
#include <gtest/gtest.h>

#include "parallel/mpi/communicator.h"
#include "tests/support/guarded_context.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

std::vector<Layout> layouts_of(int ranks) {
  if (ranks == 2) {
    return {{.dp = 2, .zero = ZeroStage::Gradients, .micro_rows = 60},
            {.tp = 2, .sequence = true, .recompute = Recompute::Block}};
  }
  return {{.dp = 2, .tp = 2, .zero = ZeroStage::Optimizer, .sequence = true}};
}

TEST(MpiParity, LayoutsGiveTheRunOfOneRank) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (const bool seq2seq : {false, true}) {
    const LayoutCase c{.seq2seq = seq2seq, .steps = 10};
    Context alone_context;
    Mesh alone = Mesh::single();
    const LayoutRun one = test::train(c, {}, alone, alone_context);
    for (const Layout& layout : layouts_of(ranks)) {
      Context context;
      Mesh mesh = mpi_mesh({.dp = layout.dp, .tp = layout.tp});
      const LayoutRun run = test::train(c, layout, mesh, context);
      ASSERT_EQ(run.losses.size(), one.losses.size());
      for (size_t i = 0; i < one.losses.size(); ++i) {
        const double bound = i == 0 ? 1e-5 : 1e-3;
        EXPECT_NEAR(run.losses[i], one.losses[i], bound * one.losses[i]) << layout.name() << " step " << i;
        EXPECT_NEAR(run.norms[i], one.norms[i], bound * one.norms[i]) << layout.name() << " step " << i;
      }
      const auto guarded = test::guarded_context();
      const LayoutRun unseen = test::train(c, layout, mesh, *guarded);
      EXPECT_EQ(unseen.losses, run.losses) << layout.name();
      EXPECT_EQ(unseen.values, run.values) << layout.name();
      EXPECT_GT(run.dp_moved + run.tp_moved, 0);
    }
  }
}

}  // namespace
}  // namespace weft
