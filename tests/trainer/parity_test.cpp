// SPDX-License-Identifier: Apache-2.0
// A layout changes the speed of a run, not its losses or gradient norms.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "data/batches/batch_plan_windows.h"
#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/covering_layouts.h"
#include "tests/trainer/fixture/deviation.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;
using test::LayoutCase;
using test::LayoutRun;

std::vector<LayoutRun> train(const LayoutCase& c, const Layout& layout) {
  std::vector<LayoutRun> runs(static_cast<size_t>(layout.dp * layout.tp));
  run_in_process({.dp = layout.dp, .tp = layout.tp}, [&](Mesh& mesh, int rank) {
    Context context;
    runs[rank] = test::train(c, layout, mesh, context);
  });
  return runs;
}

// The run of one rank without any option.
const LayoutRun& reference(const LayoutCase& c) {
  static std::map<std::string, LayoutRun> known;
  const std::string key =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", c.seq2seq, c.vocabulary, c.steps,
                  static_cast<int>(c.precision), static_cast<int>(c.norm), c.embedding_width, c.heads, c.kv_heads,
                  static_cast<int>(c.positions), c.scale_embedding, c.bias, c.lora.rank, c.freeze.size(),
                  c.document_mask, static_cast<int>(c.cross_norm), c.padding_id, static_cast<int>(c.blocks), c.z_loss);
  const auto at = known.find(key);
  return at != known.end() ? at->second : known.emplace(key, train(c, {})[0]).first->second;
}

void record(double first, double loss, double norm) {  // for the table of docs/layouts.md
  testing::Test::RecordProperty("first", fmt::format("{:.2e}", first));
  testing::Test::RecordProperty("loss", fmt::format("{:.2e}", loss));
  testing::Test::RecordProperty("norm", fmt::format("{:.2e}", norm));
}

void expect_fp32_run(const LayoutCase& c, const Layout& layout, const LayoutRun& run) {
  const Deviation found = deviation(run, reference(c));
  record(found.first, found.loss, found.norm);
  EXPECT_LT(found.first, 1e-5) << layout.name();
  EXPECT_LT(found.loss, 1e-3) << layout.name();
  EXPECT_LT(found.norm, 1e-3) << layout.name();
}

void expect_bf16_run(const LayoutCase& c, const Layout& layout, const LayoutRun& run) {
  LayoutCase exact = c;
  exact.precision = Precision::Fp32;
  const Deviation one = deviation(reference(c), reference(exact)), found = deviation(run, reference(exact));
  record(found.first, found.loss, found.norm_rms);
  EXPECT_LT(one.first, 2e-3);
  EXPECT_LT(one.loss, 2e-2);
  EXPECT_LT(one.norm_rms, 5e-2);
  // The rounding of a single step: that of one rank may happen to be small.
  EXPECT_LT(found.first, std::max(2 * one.first, 1e-3)) << layout.name();
  expect_as_near(found, one, layout.name());
}

void expect_same_run(const LayoutCase& c, const Layout& layout, const std::vector<LayoutRun>& ranks) {
  c.precision == Precision::Bf16 ? expect_bf16_run(c, layout, ranks[0]) : expect_fp32_run(c, layout, ranks[0]);
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(ranks[rank].losses, ranks[0].losses) << layout.name() << " rank " << rank;
    EXPECT_EQ(ranks[rank].unchanged, ranks[rank].frozen) << layout.name() << " rank " << rank;
    EXPECT_EQ(ranks[rank].zero_rows, 0) << layout.name() << " rank " << rank;
    EXPECT_EQ(ranks[rank].values, ranks[rank % layout.tp].values) << "replicas differ, " << layout.name();
  }
}

class Parity : public testing::TestWithParam<Cell> {};

TEST_P(Parity, LayoutsGiveTheSameRun) {
  const auto& [model, what, layout] = GetParam();
  if (what.steps >= 50) {
    EXPECT_LT(reference(what).losses.back(), reference(what).losses.front() - 1);
  }
  expect_same_run(what, layout, train(what, layout));
  // A knob that changes nothing is not connected.
  Layout plain = layout;
  plain.zero = ZeroStage::Whole, plain.sequence = false, plain.recompute = Recompute::None;
  if (plain.name() == layout.name()) return;
  LayoutCase brief = what;
  brief.steps = 2;
  const auto with = train(brief, layout), without = train(brief, plain);
  EXPECT_TRUE(with[0].dp_moved != without[0].dp_moved || with[0].tp_moved != without[0].tp_moved ||
              with[0].peak_memory != without[0].peak_memory)
      << layout.name();
  if (layout.zero != ZeroStage::Whole) {
    EXPECT_LT(with[0].owned_elements, without[0].owned_elements / layout.dp + without[0].owned_elements / 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Covering, Parity, testing::ValuesIn(covering()), cell_name);

constexpr auto kGrids = std::to_array<std::pair<int, int>>(  // dp, tp
    {{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 4}, {2, 2}, {4, 2}, {2, 4}, {4, 4}});

// Every knob that has an effect on a grid.
void add_every_knob(std::vector<Cell>& cells, const std::string& model, const LayoutCase& what) {
  for (const auto& [dp, tp] : kGrids) {
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      for (const bool sequence : {false, true}) {
        for (const Recompute recompute : {Recompute::None, Recompute::Attention, Recompute::Block}) {
          if ((dp == 1 && zero != ZeroStage::Whole) || (tp == 1 && sequence)) continue;
          cells.push_back(
              {model, what, {.dp = dp, .tp = tp, .zero = zero, .sequence = sequence, .recompute = recompute}});
        }
      }
    }
  }
}

// Every grid, with all that it can divide.
void add_every_grid(std::vector<Cell>& cells, const std::string& model, const LayoutCase& what) {
  for (const auto& [dp, tp] : kGrids) {
    const ZeroStage zero = dp > 1 ? ZeroStage::Optimizer : ZeroStage::Whole;
    cells.push_back({model, what, {.dp = dp, .tp = tp, .zero = zero, .sequence = tp > 1}});
  }
}

// Layouts x models x knobs for 50 steps; those in bf16 and with the blocks of later models on every grid.
// bench/parity.sh runs them and keeps the table.
std::vector<Cell> whole_matrix() {
  std::vector<Cell> cells;
  if (!std::getenv("WEFT_WHOLE_MATRIX")) return cells;
  for (const bool seq2seq : {false, true}) {
    const std::string name = seq2seq ? "Seq2Seq" : "Gpt";
    const LayoutCase what{.seq2seq = seq2seq, .steps = 50};
    add_every_knob(cells, name, what);
    for (const auto& [blocks_name, blocks] : kBlocks) {
      LayoutCase later = what;
      later.blocks = blocks;
      if (blocks != Blocks::Gpt2) add_every_grid(cells, fmt::format("{}{}", name, blocks_name), later);
      later.precision = Precision::Bf16;
      if (blocks == Blocks::Gpt2) add_every_grid(cells, name + "Bf16", later);
      if (blocks == Blocks::Qwen3) add_every_grid(cells, fmt::format("{}{}Bf16", name, blocks_name), later);
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Whole, Parity, testing::ValuesIn(whole_matrix()), cell_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Parity);

// More steps of data parallelism alone: any number of replicas, any micro-batch size, and two runs of one layout that
// must agree bit for bit.
TEST(DataParallel, AnyReplicasAndMicroBatchesGiveTheSameRun) {
  for (const bool seq2seq : {false, true}) {
    const LayoutCase what{.seq2seq = seq2seq, .steps = 50};
    EXPECT_LT(reference(what).losses.back(), reference(what).losses.front() - 1);
    for (const Layout& layout : {Layout{.micro_rows = 34}, Layout{.dp = 2}, Layout{.dp = 3, .micro_rows = 40},
                                 Layout{.dp = 7, .zero = ZeroStage::Gradients}}) {
      const auto first = train(what, layout);
      expect_same_run(what, layout, first);
      const auto second = train(what, layout);
      for (size_t r = 0; r < first.size(); ++r) EXPECT_EQ(first[r].values, second[r].values) << layout.name();
    }
  }
}

// Gradients that are sent in bf16 keep every replica's bits equal, and repeat. Their runs stay as near to those in fp32
// as rounding allows; with ZeRO 1 and 2 the sums are the same if each rank has one micro-batch.
TEST(DataParallel, GradientsInBf16GiveNearlyTheSameRun) {
  for (const bool seq2seq : {false, true}) {
    const LayoutCase what{.seq2seq = seq2seq};
    for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
      const Layout layout{.dp = 3, .zero = zero, .gradients = GradientDType::Bf16};
      const auto first = train(what, layout), second = train(what, layout);
      const Deviation found = deviation(first[0], reference(what));
      EXPECT_GT(found.first, 0) << "nothing was rounded";
      EXPECT_LT(found.first, 1e-3) << layout.name();
      EXPECT_LT(found.loss, 1e-2) << layout.name();
      for (size_t r = 0; r < first.size(); ++r) {
        EXPECT_EQ(first[r].values, second[r].values) << layout.name();
        EXPECT_EQ(first[r].values, first[0].values) << layout.name() << ": replicas differ";
      }
      if (zero != ZeroStage::Gradients) continue;
      EXPECT_EQ(first[0].losses,
                train(what, {.dp = 3, .zero = ZeroStage::Optimizer, .gradients = layout.gradients})[0].losses);
    }
  }
}

// Trying the largest step before the first and in the middle of a run changes no bit.
TEST(Rehearsal, ChangesNothing) {
  for (const bool seq2seq : {false, true}) {
    const LayoutCase what{.seq2seq = seq2seq, .steps = 4};
    LayoutCase rehearsed = what;
    rehearsed.probe_largest_step = true;
    for (const Layout& layout : {Layout{}, Layout{.micro_rows = 34}, Layout{.dp = 3, .micro_rows = 40},
                                 Layout{.dp = 2, .tp = 2, .zero = ZeroStage::Gradients, .sequence = true}}) {
      const auto without = train(what, layout), with = train(rehearsed, layout);
      for (size_t rank = 0; rank < with.size(); ++rank) {
        EXPECT_EQ(with[rank].losses, without[rank].losses) << layout.name();
        EXPECT_EQ(with[rank].norms, without[rank].norms) << layout.name();
        EXPECT_EQ(with[rank].values, without[rank].values) << layout.name();
        EXPECT_GT(with[rank].dp_moved + (layout.dp == 1), without[rank].dp_moved) << "it was not done";
      }
    }
  }
}

// A rank whose loss is not finite makes every rank skip, and nothing changes.
TEST(Parity, NonFiniteStepsAreSkippedByAll) {
  run_in_process({.dp = 2, .tp = 2}, [](Mesh& mesh, int rank) {
    Context context;
    TransformerConfig config = test::small_config(false);
    config.heads = 2;
    const auto model = make_model(context, mesh, {.config = config, .vocabularies = {.target = 50}});
    model->allocate(Precision::Fp32, Purpose::Training);
    model->parameters().initialise(4);
    Optimizer optimizer(context, model->parameters(), {});
    TrainingStep step(*model, optimizer, {.clip_norm = 1.0});
    const auto plan = make_window_plan({.sequences = 4, .context_length = 8}, 200, 1);
    const test::PatternReader reader(50, false);
    const auto batches = read_step(plan->step(0, 0), reader, mesh.dp().rank(), 2, 0);
    int64_t updates = 0;
    StepState state{.learning_rate = 1e-2};
    step.run(batches, state, updates, 0, {});
    EXPECT_EQ(updates, 1);
    const Tensor& flat = model->parameters().flat_value();
    const std::vector<float> before(flat.data<float>(), flat.data<float>() + flat.elements());
    // One rank has an infinite weight: its loss is not a number, the losses of other ranks may be numbers.
    float* w = model->parameters().find("decoder.embedding.positions")->value().data<float>();
    const float kept = w[3];
    if (rank == 3) w[3] = std::numeric_limits<float>::infinity();
    const StepReport report = step.run(batches, state, updates, 0, {});
    if (rank == 3) w[3] = kept;
    EXPECT_TRUE(report.outcome.skipped);
    EXPECT_EQ(updates, 1);
    EXPECT_EQ(0, std::memcmp(before.data(), flat.raw(), flat.bytes()));
    const StepReport healed = step.run(batches, state, updates, 0, {});
    EXPECT_FALSE(healed.outcome.skipped);
  });
}

}  // namespace
}  // namespace weft
