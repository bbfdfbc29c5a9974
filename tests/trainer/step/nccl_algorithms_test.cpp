// SPDX-License-Identifier: Apache-2.0
// Ranks whose devices find different algorithms the fastest use the same ones, and no result that was computed before
// they agree counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/device/tuning.h"
#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/trainer/fixture/layout_run.h"
#include "trainer/run/provenance.h"
#include "trainer/step/agreed_algorithms.h"

namespace weft {
namespace {

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

struct MeasuredRun {
  std::vector<LayoutRun> ranks;
  std::string table;              // rank 0's table at the end
  std::set<std::string> choices;  // the algorithms of all ranks, as their fingerprints name them
};

// Each rank begins with the algorithms of `table` and measures the rest.
MeasuredRun measured(const LayoutCase& c, const Layout& layout, const std::string& table = {}) {
  const MeshLayout grid{.dp = layout.dp, .tp = layout.tp};
  const auto ranks = static_cast<size_t>(grid.ranks());
  MeasuredRun run{.ranks = std::vector<LayoutRun>(ranks)};
  std::mutex mutex;
  run_hosts_in_process(grid,
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         set_products(context, {.algorithms = AlgorithmChoice::Measured});
                         if (!table.empty()) take_tuned(context, table, "a table");
                         Mesh mesh = nccl_mesh(grid, rank, host, context);
                         run.ranks[static_cast<size_t>(rank)] = test::train(c, layout, mesh, context);
                         EXPECT_FALSE(has_unagreed_algorithms(context, mesh.world()));
                         const std::lock_guard lock(mutex);
                         if (rank == 0) run.table = tuned(context);
                         for (const auto& [name, value] : context.fingerprint()) {
                           if (name == "algorithms") run.choices.insert(value);
                         }
                       },
                       {.timeout_seconds = 500});
  return run;
}

class NcclAlgorithms : public testing::TestWithParam<Layout> {
 protected:
  static void times(const char* number) { setenv("WEFT_CUDA_DEVICE_TIMES", number, 1); }
  void TearDown() override { times("0"); }
};

// A run that has the table from its beginning measures nothing, and so computes each step once, with that table only.
// The run that measures must have its bits.
TEST_P(NcclAlgorithms, EveryStepIsComputedWithTheTableOfAll) {
  // Batches of pairs: ranks have shapes at different times, and some shapes that other ranks never have.
  const LayoutCase what{.seq2seq = true, .vocabulary = 200, .steps = 4};
  times("device");
  const MeasuredRun first = measured(what, GetParam());
  EXPECT_THAT(first.choices, testing::SizeIs(1));
  const MeasuredRun again = measured(what, GetParam(), first.table);
  EXPECT_EQ(again.choices, first.choices);
  for (size_t rank = 0; rank < first.ranks.size(); ++rank) {
    EXPECT_EQ(again.ranks[rank].downloads, what.steps) << "a step was done twice, rank " << rank;
    EXPECT_GT(first.ranks[rank].downloads, what.steps) << "no step was, rank " << rank;
    EXPECT_EQ(again.ranks[rank].losses, first.ranks[rank].losses) << "rank " << rank;
    EXPECT_EQ(again.ranks[rank].values, first.ranks[rank].values) << "rank " << rank;
  }
  // The devices do differ: another table gives other bits.
  times("3");
  EXPECT_NE(measured(what, GetParam()).ranks[0].values, first.ranks[0].values);
}

TEST(NcclFingerprint, NamesWhatMakesSums) {
  run_hosts_in_process({.dp = 2}, [](const MakeHostPlane& host, int rank) {
    Context context({DeviceKind::Cuda, rank});
    const Mesh mesh = nccl_mesh({.dp = 2}, rank, host, context);
    EXPECT_EQ(numerics_fingerprint({}, mesh, context).at("collectives"), mesh.dp().sums());
    EXPECT_FALSE(numerics_fingerprint({}, Mesh::single(), context).contains("collectives"));
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, NcclAlgorithms,
                         testing::Values(Layout{.dp = 2, .zero = ZeroStage::Gradients, .micro_rows = 50},
                                         Layout{.tp = 2}),
                         [](const auto& info) { return info.param.name(); });

}  // namespace
}  // namespace weft
