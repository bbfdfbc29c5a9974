// SPDX-License-Identifier: Apache-2.0
// The bytes that a layout sends and holds: the formulas of docs/layouts.md, the plan, and the run agree.
#include <gtest/gtest.h>

#include "parallel/local/dry_communicator.h"
#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/layout_run.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

// The sizes in the formulas, for rank 0 and one step of a GPT model.
struct Sizes {
  double layers = 0, width = 0;
  double flat = 0;           // elements of a flat buffer, padding included
  double partial = 0;        // elements of parameters whose gradients are partial over tp
  std::vector<double> rows;  // by micro-batch of this dp rank
  double rounds = 0;         // micro-batches of the rank with the most
};

double up_to_multiple(double rows, double n) { return std::ceil(rows / n) * n; }

// docs/layouts.md, "What is sent": bytes over dp in one step, fp32.
double dp_bytes(const Sizes& s, const Layout& layout) {
  const double n = layout.dp, once = (n - 1) / n * 4 * s.flat;
  const double reductions = layout.zero == ZeroStage::Gradients ? s.rounds : 1;
  const double sent = layout.gradients == GradientDType::Bf16 ? 0.5 : 1;  // share of fp32's bytes
  // An all-reduce is a reduce-scatter and an all-gather; with ZeRO the gather is of fp32 weights.
  return (sent * reductions + (layout.zero == ZeroStage::Whole ? sent : 1)) * once;
}

// Bytes over tp in one step: 4 layers + 2 passages of a micro-batch's rows into or out of sharded regions, each
// a reduce-scatter and an all-gather (or their sum, an all-reduce, or an all-to-all and an all-gather); 2 (attention)
// or 4 (block) more a layer and direction if recomputation repeats them; four numbers a row for the loss; partial
// gradients once. In bf16 all rows are sent in 2 bytes, except the parts of row-parallel sums.
double tp_bytes(const Sizes& s, const Layout& layout, Precision precision = Precision::Fp32) {
  const double n = layout.tp, once = (n - 1) / n, bytes = precision == Precision::Bf16 ? 2 : 4;
  double sum = layout.sequence ? 2 * once * 4 * s.partial : 0;
  for (const double rows : s.rows) {
    const double stream = (layout.sequence ? up_to_multiple(rows, n) : rows) * s.width;
    const double repeated = layout.recompute == Recompute::Block ? 2 : layout.recompute == Recompute::Attention ? 1 : 0;
    const double parts = (2 + repeated) * s.layers;  // sums after row-parallel products, forward and repeated
    const double passages = 2 * (4 * s.layers + 2) + 2 * repeated * s.layers;
    const double wide = layout.sequence ? parts : 2 * parts;  // without sequence parallelism the sums are gathered too
    sum += once * ((wide * 4 + (passages - wide) * bytes) * stream + 2 * 4 * 4 * rows);
  }
  return sum;
}

Sizes sizes_of(const LayoutCase& c, const Layout& layout) {
  const TransformerConfig config = c.config();
  Sizes s{.layers = static_cast<double>(config.layers), .width = static_cast<double>(config.width)};
  Context context({.kind = DeviceKind::Meta});
  Mesh mesh = dry_mesh({.dp = layout.dp, .tp = layout.tp}, context);
  const auto model =
      make_model(context, mesh,
                 {.config = config, .vocabularies = {.target = c.vocabulary}, .sequence_parallel = layout.sequence});
  model->allocate(c.precision, Purpose::Training, {.zero = layout.zero, .bucket_bytes = 20'000});
  s.flat = static_cast<double>(model->parameters().layout().elements);
  for (const auto& p : model->parameters().parameters()) {
    if (!p->spec().partial_over.contains(MeshAxis::Tp)) continue;
    for (const FlatRange& owned : model->parameters().layout().owned) {
      s.partial += static_cast<double>(std::max<int64_t>(0, overlap(owned, p->range()).size()));
    }
  }
  const auto batches = read_step(c.plan()->step(0, 0), test::PatternReader(c.vocabulary, c.document_mask), 0, layout.dp,
                                 layout.micro_rows);
  for (const MicroBatch& m : batches.micro) s.rows.push_back(static_cast<double>(m.input.num_tokens()));
  s.rounds = static_cast<double>(batches.most_micro);
  return s;
}

std::vector<Layout> layouts() {
  const ZeroStage optimizer = ZeroStage::Optimizer, gradients = ZeroStage::Gradients;
  return {{.dp = 2},
          {.dp = 3, .zero = optimizer},
          {.dp = 2, .zero = gradients, .micro_rows = 40},
          {.tp = 2},
          {.tp = 4, .micro_rows = 40},
          {.tp = 2, .sequence = true},
          {.tp = 2, .recompute = Recompute::Attention},
          {.tp = 4, .recompute = Recompute::Block},
          {.tp = 2, .sequence = true, .recompute = Recompute::Block},
          {.tp = 2, .sequence = true, .recompute = Recompute::Attention},
          {.dp = 2, .tp = 2, .zero = gradients, .sequence = true, .recompute = Recompute::Block, .micro_rows = 70},
          {.dp = 2, .gradients = GradientDType::Bf16},
          {.dp = 4, .zero = optimizer, .gradients = GradientDType::Bf16},
          {.dp = 2, .zero = gradients, .micro_rows = 40, .gradients = GradientDType::Bf16}};
}

LayoutRun run_for_real(const LayoutCase& c, const Layout& layout) {
  LayoutRun first;
  run_in_process({.dp = layout.dp, .tp = layout.tp}, [&](Mesh& mesh, int rank) {
    Context context;
    const LayoutRun run = test::train(c, layout, mesh, context);
    if (rank == 0) first = run;
  });
  return first;
}

TEST(Traffic, EqualsItsFormulas) {
  for (const Layout& layout : layouts()) {
    const LayoutCase c{.steps = 1};
    const LayoutRun run = run_for_real(c, layout);
    const Sizes sizes = sizes_of(c, layout);
    // Replicas that divide the masters gather the initial values once; undivided fp32 masters need no gather.
    const double initial = layout.zero == ZeroStage::Whole ? 0 : dp_bytes(sizes, {.dp = layout.dp}) / 2;
    EXPECT_DOUBLE_EQ(run.dp_moved - initial, dp_bytes(sizes, layout)) << layout.name();
    EXPECT_DOUBLE_EQ(run.tp_moved, tp_bytes(sizes, layout)) << layout.name();
    EXPECT_EQ(run.dp_moved > 0, layout.dp > 1);
    EXPECT_EQ(run.tp_moved > 0, layout.tp > 1);
  }
}

TEST(Traffic, Bf16TrafficIsHalfExceptForPartsOfRowParallelSums) {
  for (const Layout& layout : layouts()) {
    if (layout.tp == 1) continue;
    const LayoutCase c{.steps = 1, .precision = Precision::Bf16};
    EXPECT_DOUBLE_EQ(run_for_real(c, layout).tp_moved, tp_bytes(sizes_of(c, layout), layout, Precision::Bf16))
        << layout.name();
  }
}

// The plan runs the same code dry: the same bytes, and memory within 10 % of the allocator's peak.
TEST(Traffic, DryRunsMoveAndHoldWhatRunsDo) {
  for (const auto& [seq2seq, precision] :
       {std::pair{false, Precision::Fp32}, {true, Precision::Fp32}, {false, Precision::Bf16}}) {
    for (const Layout& layout : layouts()) {
      const LayoutCase c{.seq2seq = seq2seq, .steps = 2, .precision = precision};
      const LayoutRun real = run_for_real(c, layout);
      Context context({.kind = DeviceKind::Meta});
      Mesh mesh = dry_mesh({.dp = layout.dp, .tp = layout.tp}, context);
      const LayoutRun dry = test::train(c, layout, mesh, context);
      EXPECT_EQ(dry.dp_moved, real.dp_moved) << layout.name();
      EXPECT_EQ(dry.tp_moved, real.tp_moved) << layout.name();
      EXPECT_NEAR(static_cast<double>(dry.peak_memory), static_cast<double>(real.peak_memory),
                  0.1 * static_cast<double>(real.peak_memory))
          << layout.name();
    }
  }
}

}  // namespace
}  // namespace weft
