// SPDX-License-Identifier: Apache-2.0
// weft bench on ranks with a device each: the devices time how long ranks wait for each other.
#include <gtest/gtest.h>

#include "bench/step_bench.h"
#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/support/cuda_devices.h"

namespace weft {
namespace {

std::vector<double> exposed_by_rank(GraphChoice graphs) {
  JobConfig job;
  job.model = {.layers = 1, .width = 32, .heads = 4, .max_length = 16};
  job.batch = {.sequences = 2, .context_length = 16};
  job.train.graphs = graphs;
  const SyntheticData data = make_synthetic_data(job, {.vocabulary = 50});
  std::vector<double> exposed;
  run_hosts_in_process({.dp = 2},
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         Mesh mesh = nccl_mesh({.dp = 2}, rank, host, context);
                         const BenchReport report =
                             bench_steps(context, mesh, job, data, {.warmup = 2, .steps = 2, .peak = false});
                         EXPECT_EQ(report.replayed, graphs == GraphChoice::On ? 2 : 0);
                         if (rank == 0) exposed = report.rank_exposed;
                       },
                       {.timeout_seconds = 300});
  return exposed;
}

// The simulated device's clock is the same in every run; the host's clock never is.
TEST(NcclBench, ExposedCommunicationIsTimedByTheDevices) {
  if (const std::string lacks = test::lacks_simulation(); !lacks.empty()) GTEST_SKIP() << lacks;
  for (const GraphChoice graphs : {GraphChoice::Off, GraphChoice::On}) {
    const std::vector<double> exposed = exposed_by_rank(graphs);
    ASSERT_EQ(exposed.size(), 2u);
    for (const double seconds : exposed) EXPECT_GT(seconds, 10e-6);  // a collective's time
    EXPECT_EQ(exposed_by_rank(graphs), exposed);
  }
}

// The first step of a shape is queued, the second is captured, the third is the first that a replay alone makes.
TEST(NcclBench, StepsAreCountedByHowTheyAreLaunched) {
  JobConfig job;
  job.model = {.layers = 1, .width = 32, .heads = 4, .max_length = 16};
  job.batch = {.sequences = 2, .context_length = 16};
  Context context({DeviceKind::Cuda, 0});
  Mesh mesh = Mesh::single();
  const SyntheticData data = make_synthetic_data(job, {.vocabulary = 50});
  const BenchReport all = bench_steps(context, mesh, job, data, {.warmup = 0, .steps = 4, .peak = false});
  EXPECT_EQ(all.replayed, 3);
  EXPECT_EQ(all.captured, 1);
  const BenchReport warm = bench_steps(context, mesh, job, data, {.warmup = 2, .steps = 4, .peak = false});
  EXPECT_EQ(warm.replayed, 4);
  EXPECT_EQ(warm.captured, 0);
}

}  // namespace
}  // namespace weft
