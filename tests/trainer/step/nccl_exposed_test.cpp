// SPDX-License-Identifier: Apache-2.0
// Devices time how long they wait for the gradients of other replicas.
#include <gtest/gtest.h>

#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using test::Layout;

// The largest time of any rank, by step.
std::vector<double> exposed_seconds(const Layout& layout) {
  const MeshLayout grid{.dp = layout.dp, .tp = layout.tp};
  std::vector<std::vector<double>> seen(static_cast<size_t>(grid.ranks()));
  run_hosts_in_process(grid,
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         Mesh mesh = nccl_mesh(grid, rank, host, context);
                         test::LayoutModel model({.vocabulary = 200}, layout, mesh, context);
                         for (int i = 0; i < 3; ++i) {
                           seen[static_cast<size_t>(rank)].push_back(mesh.world().all_reduce_host(
                               model.step({.learning_rate = 1e-3}).times.exposed, ReduceOp::Max));
                         }
                       },
                       {.timeout_seconds = 300});
  return seen[0];
}

// On the simulated device a collective takes 11 us (milliseconds, in fp32), and the last bucket's starts when no
// other work is left.
TEST(NcclExposed, IsWhatDevicesWaitForTheLastBuckets) {
  for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Gradients}) {
    const Layout layout{.dp = 2, .zero = zero, .micro_rows = zero == ZeroStage::Gradients ? 40 : 0};
    const std::vector<double> exposed = exposed_seconds(layout);
    for (const double seconds : exposed) EXPECT_GT(seconds, 10e-6) << layout.name();
    // The device's time is the same in every run; the host's never is.
    EXPECT_EQ(exposed_seconds(layout), exposed) << layout.name();
  }
}

TEST(NcclExposed, ALayoutWithoutReplicasDoesNotWait) {
  for (const double seconds : exposed_seconds({.tp = 2})) EXPECT_LT(seconds, 10e-6);
}

}  // namespace
}  // namespace weft
