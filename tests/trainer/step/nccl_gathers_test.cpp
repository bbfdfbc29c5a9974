// SPDX-License-Identifier: Apache-2.0
// Gathers of updated weights that run beside the operations of devices: the simulated device finds a read or a write
// that does not wait for them.
#include <gtest/gtest.h>

#include "parallel/local/in_process.h"
#include "parallel/nccl/communicator.h"
#include "tests/trainer/fixture/copy_under_way.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using namespace test;
using test::Layout;

void on_two_devices(const std::function<void(Context& context, Mesh& mesh, int rank)>& body) {
  const MeshLayout grid{.dp = 2};
  run_hosts_in_process(grid,
                       [&](const MakeHostPlane& host, int rank) {
                         Context context({DeviceKind::Cuda, rank});
                         Mesh mesh = nccl_mesh(grid, rank, host, context);
                         body(context, mesh, rank);
                       },
                       {.timeout_seconds = 300});
}

TEST(NcclGathers, AnUpdateWaitsForThoseOfTheUpdateBefore) {
  on_two_devices([](Context& context, Mesh& mesh, int) {
    LayoutModel trained({.vocabulary = 200}, {.dp = 2, .zero = ZeroStage::Optimizer}, mesh, context);
    ParameterRegistry& parameters = trained.model().parameters();
    Optimizer optimizer(context, parameters, {.weight_decay = 0.1});
    for (int i = 0; i < 2; ++i) optimizer.update({.learning_rate = 1e-2});
    const Tensor& flat = parameters.flat_value();
    std::vector<float> values(static_cast<size_t>(flat.elements()));
    download(context, flat, std::span(values));
  });
}

// Seconds that rank 0's device waits for weights after an update: for all of them, or by layers that compute.
double waited_for_weights(bool at_once) {
  double waited = 0;
  on_two_devices([&](Context& context, Mesh& mesh, int rank) {
    LayoutModel trained({.vocabulary = 200}, {.dp = 2, .zero = ZeroStage::Optimizer}, mesh, context);
    ParameterRegistry& parameters = trained.model().parameters();
    for (int i = 0; i < 2; ++i) trained.step({.learning_rate = 1e-3});
    parameters.weight_gather()->forget_waited();
    if (at_once) {
      parameters.finish_weight_gather();
    } else {
      Tape tape(context, Tape::Mode::Off);
      for (const auto& p : parameters.parameters()) {
        const Tensor y = context.empty({64, 256}, DType::F32), x = context.zeros({64, 256}, DType::F32);
        tape.use(p.get()).value();
        add_scaled(context, x, 1, y);  // the work of a layer
      }
    }
    context.finish();
    if (rank == 0) waited = parameters.weight_gather()->take_waited();
  });
  return waited;
}

TEST(NcclGathers, HideBehindTheWorkOfTheLayersBefore) {
  const double at_once = waited_for_weights(true), by_layer = waited_for_weights(false);
  RecordProperty("at_once", fmt::format("{:.3g}", at_once));
  RecordProperty("by_layer", fmt::format("{:.3g}", by_layer));
  EXPECT_GT(at_once, 10e-6) << "a collective takes 11 us on the simulated device";
  EXPECT_LT(by_layer, at_once);
}

// Hashes of rank 0's values after each step. Between steps the weights are gathered for an evaluation.
std::vector<uint64_t> values_by_step(const Layout& layout) {
  std::vector<uint64_t> values;
  on_two_devices([&](Context& context, Mesh& mesh, int rank) {
    LayoutModel trained({.vocabulary = 200}, layout, mesh, context);
    ParameterRegistry& parameters = trained.model().parameters();
    for (uint64_t i = 0; i < 5; ++i) {
      const StepReport report = trained.step({.learning_rate = 3e-3, .dropout_key = i});
      EXPECT_EQ(report.outcome.replayed, layout.graphs && i > 0);
      if (i == 2) continue;  // the step after it finds weights that are not gathered
      parameters.finish_weight_gather();
      const std::vector<uint64_t> hashes = value_hashes(context, parameters);
      if (rank == 0) values.insert(values.end(), hashes.begin(), hashes.end());
    }
  });
  return values;
}

TEST(NcclGathers, InGraphsAreRepeatedAfterAnEvaluationWithTheSameBits) {
  const Layout layout{.dp = 2, .zero = ZeroStage::Optimizer};
  Layout replayed = layout;
  replayed.graphs = true;
  EXPECT_EQ(values_by_step(replayed), values_by_step(layout));
}

// A save gathers before it copies, and the graph of the next step gathers once more.
TEST(NcclGathers, InGraphsComeAfterTheSnapshotOfWhatTheyWrite) {
  on_two_devices([](Context& context, Mesh& mesh, int) {
    LayoutModel trained({.vocabulary = 200}, {.dp = 2, .zero = ZeroStage::Optimizer, .graphs = true}, mesh, context);
    ParameterRegistry& parameters = trained.model().parameters();
    for (uint64_t i = 0; i < 3; ++i) trained.step({.learning_rate = 1e-3, .dropout_key = i});
    parameters.finish_weight_gather();
    CopyUnderWay copy(context, parameters.master().data);
    EXPECT_TRUE(trained.step({.learning_rate = 1e-3, .dropout_key = 3}).outcome.replayed);
    copy.expect_values_before();
  });
}

}  // namespace
}  // namespace weft
