// SPDX-License-Identifier: Apache-2.0
// A whole training step of any layout runs dry: no data, no other rank, the traffic counted.
#include <gtest/gtest.h>

#include "parallel/local/dry_communicator.h"
#include "parallel/local/in_process.h"
#include "tests/model/fixture/model.h"
#include "trainer/step/training_step.h"

namespace weft {
namespace {

using namespace test;

StepBatches two_windows(int32_t vocabulary) {
  MicroBatch micro;
  for (int32_t i = 0; i < 12; ++i) {
    micro.input.tokens.push_back(i % vocabulary);
    micro.targets.push_back((i + 1) % vocabulary);
  }
  micro.input.offsets = {0, 6, 12};
  micro.sequence_ids = {0, 1};
  StepBatches batches;
  batches.step_target_tokens = 24;
  batches.micro = {micro, micro};
  return batches;
}

struct DryRun {
  Traffic world, dp, tp;
  int64_t gradient_bytes = 0;
};

// Runs one step and returns what the rank's communicators counted of it.
DryRun step_on(Context& context, Mesh& mesh, ZeroStage zero) {
  TransformerConfig config = test::small_config(false);
  config.ffn = 24;  // for tp 3
  const auto model = make_model(context, mesh, {.config = config, .vocabularies = test::small_vocabularies(false)});
  model->allocate(Precision::Fp32, Purpose::Training, {.zero = zero, .bucket_bytes = 2048});
  model->parameters().initialise(1);
  Optimizer optimizer(context, model->parameters(), {});
  TrainingStep step(*model, optimizer, {.clip_norm = 1});
  StepState state;
  state.learning_rate = 1e-3;
  int64_t updates = 0;
  for (Communicator* c : {&mesh.world(), &mesh.dp(), &mesh.tp()}) c->traffic().clear();
  step.run(two_windows(11), state, updates, 0, {});
  return {.world = mesh.world().traffic(),
          .dp = mesh.dp().traffic(),
          .tp = mesh.tp().traffic(),
          .gradient_bytes = static_cast<int64_t>(model->parameters().flat_value().bytes())};
}

TEST(DryStep, CountsTheGradientsOfEveryLayout) {
  for (const int dp : {2, 4, 64}) {
    Context context({.kind = DeviceKind::Meta});
    Mesh mesh = dry_mesh({.dp = dp}, context);
    const DryRun dry = step_on(context, mesh, ZeroStage::Whole);
    EXPECT_EQ(dry.dp[Collective::AllReduce].bytes, dry.gradient_bytes);
    EXPECT_NEAR(context.ledger().entries().at("dp.all_reduce").moved,
                2.0 * (dp - 1) / dp * static_cast<double>(dry.gradient_bytes), 1e-6);
    EXPECT_EQ(context.ledger().entries().at("world.all_reduce").calls, 1);  // the one control all-reduce
    EXPECT_GT(context.ledger().total().flops, 0);
  }
}

// The dry run counts what every rank of a real run sends.
TEST(DryStep, EqualsARealStepOnEveryLayout) {
  for (const auto& [layout, zero] : {std::pair{MeshLayout{.dp = 2}, ZeroStage::Whole},
                                     {{.dp = 2}, ZeroStage::Optimizer},
                                     {{.dp = 3}, ZeroStage::Gradients},
                                     {{.tp = 3}, ZeroStage::Whole},
                                     {{.dp = 2, .tp = 3}, ZeroStage::Gradients}}) {
    run_in_process(layout, [&, layout = layout, zero = zero](Mesh& mesh, int rank) {
      Context context({.kind = DeviceKind::Meta}), real;
      Mesh alone = dry_mesh(layout, context, rank);
      const DryRun expected = step_on(context, alone, zero), run = step_on(real, mesh, zero);
      for (int i = 0; i < kCollectives; ++i) {
        const auto c = static_cast<Collective>(i);
        for (const auto axis : {&DryRun::world, &DryRun::dp, &DryRun::tp}) {
          EXPECT_EQ((run.*axis)[c].calls, (expected.*axis)[c].calls) << name(c) << ", rank " << rank;
          EXPECT_EQ((run.*axis)[c].bytes, (expected.*axis)[c].bytes) << name(c) << ", rank " << rank;
          EXPECT_EQ((run.*axis)[c].moved, (expected.*axis)[c].moved) << name(c) << ", rank " << rank;
        }
      }
      EXPECT_EQ(real.ledger().total().flops, context.ledger().total().flops);
      EXPECT_EQ(run.tp.total().calls > 0, layout.tp > 1);
    });
  }
}

}  // namespace
}  // namespace weft
