// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads, each with a different CUDA device, train as one rank does on the CPU.
#include <gtest/gtest.h>

#include <cstdlib>

#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/support/cuda_devices.h"
#include "tests/trainer/fixture/covering_layouts.h"
#include "tests/trainer/fixture/deviation.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

std::vector<LayoutRun> train_on_devices(const LayoutCase& c, const Layout& layout) {
  const MeshLayout grid{.dp = layout.dp, .tp = layout.tp};
  std::vector<LayoutRun> runs(static_cast<size_t>(grid.ranks()));
  run_hosts_in_process(grid,
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         Mesh mesh = nccl_mesh(grid, rank, host, context);
                         runs[static_cast<size_t>(rank)] = test::train(c, layout, mesh, context);
                       },
                       {.timeout_seconds = 500});
  return runs;
}

// Four steps a cell; fifty if the whole matrix is asked for (tests/long/nccl.sh, which compares several schedules).
std::vector<Cell> cells() {
  const int64_t steps = std::getenv("WEFT_WHOLE_MATRIX") ? 50 : 4;
  std::vector<Cell> chosen;
  for (Cell cell : covering()) {
    if (cell.layout.dp > 2 || cell.layout.tp > 2 || cell.what.vocabulary > 1000) continue;
    cell.what.steps = steps;
    cell.what.vocabulary = 200;  // devices pad it to 128 rows a rank: every rank has some rows
    chosen.push_back(cell);
  }
  return chosen;
}

LayoutRun train_on_the_cpu(LayoutCase c, Precision precision) {
  Context cpu;
  Mesh alone = Mesh::single();
  c.precision = precision;
  return test::train(c, {}, alone, cpu);
}

// One rank of the CPU: what a run over NCCL is compared with.
struct CpuRun {
  explicit CpuRun(const LayoutCase& c)
      : exact(train_on_the_cpu(c, Precision::Fp32)), bf16(c.precision == Precision::Bf16) {
    if (bf16) one = deviation(train_on_the_cpu(c, Precision::Bf16), exact);
  }
  void expect(const LayoutRun& run, const std::string& layout) const {
    ASSERT_EQ(run.losses.size(), exact.losses.size());
    const Deviation found = deviation(run, exact);
    if (bf16) return expect_as_near(found, one, layout);
    EXPECT_LT(found.loss, 1e-3) << layout;
    EXPECT_LT(found.norm, 1e-3) << layout;
  }

  LayoutRun exact;
  bool bf16;
  Deviation one;  // bf16: how far one rank is from fp32
};

class NcclParity : public testing::TestWithParam<Cell> {};

TEST_P(NcclParity, LayoutsGiveTheRunOfOneRankOnTheCpu) {
  const auto& [model, what, layout] = GetParam();
  if (const std::string lacks = lacks_devices(layout.dp * layout.tp); !lacks.empty()) GTEST_SKIP() << lacks;
  const std::vector<LayoutRun> ranks = train_on_devices(what, layout);
  const CpuRun one(what);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const LayoutRun& run = ranks[rank];
    one.expect(run, layout.name());
    EXPECT_EQ(run.losses, ranks[0].losses) << "rank " << rank;
    EXPECT_EQ(run.unchanged, run.frozen) << "rank " << rank;
    EXPECT_EQ(run.values, ranks[rank % static_cast<size_t>(layout.tp)].values) << "replicas differ";
    EXPECT_EQ(run.downloads, what.steps) << "the host waits once a step";
  }
}

INSTANTIATE_TEST_SUITE_P(Covering, NcclParity, testing::ValuesIn(cells()), cell_name);

// On devices too a run has one result on any number of replicas, launched operation by operation or as graphs.
TEST(NcclSameBits, BelongToNoLayout) {
  if (const std::string lacks = lacks_devices(4); !lacks.empty()) GTEST_SKIP() << lacks;
  for (const bool seq2seq : {false, true}) {
    const LayoutCase what{.seq2seq = seq2seq, .similar = true, .vocabulary = 200, .steps = 4};
    const Layout one{.micro_rows = seq2seq ? 60 : 34, .exact = true};
    const LayoutRun alone = train_on_devices(what, one)[0];
    const auto layouts = seq2seq ? std::vector{Layout{.dp = 2, .graphs = true}}
                                 : std::vector{Layout{.dp = 2, .zero = ZeroStage::Gradients},
                                               Layout{.dp = 4, .zero = ZeroStage::Optimizer}};
    for (Layout layout : layouts) {
      layout.micro_rows = one.micro_rows, layout.exact = true;
      for (const LayoutRun& run : train_on_devices(what, layout)) {
        EXPECT_EQ(run.losses, alone.losses) << layout.name();
        EXPECT_EQ(run.norms, alone.norms) << layout.name();
        EXPECT_EQ(run.parameters, alone.parameters) << layout.name();
        EXPECT_EQ(run.replayed > 0, layout.graphs) << layout.name();
      }
    }
  }
}

}  // namespace
}  // namespace weft
