// A layout changes the speed of a run, not its losses or gradient norms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "data/batch_plan_windows.h"
#include "parallel/in_process.h"
#include "tests/trainer/covering_layouts.h"

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

// Relative, of both losses and norms at the first step, then of each.
struct Bounds {
  double first = 1e-5, loss = 1e-3, norm = 1e-3;
};

// bf16 rounds what tp divides at other places: docs/layouts.md has what was found, about half of this.
Bounds bounds_of(const LayoutCase& c) { return c.precision == Precision::Bf16 ? Bounds{2e-3, 1e-2, 1e-1} : Bounds{}; }

void expect_same_run(const LayoutCase& c, const Layout& layout, const LayoutRun& one,
                     const std::vector<LayoutRun>& other) {
  const Bounds bounds = bounds_of(c);
  const auto deviation = [](double a, double b) { return std::abs(a - b) / b; };
  double first = 0, loss = 0, norm = 0;  // the largest found, for the table of docs/layouts.md
  for (size_t i = 0; i < one.losses.size(); ++i) {
    loss = std::max(loss, deviation(other[0].losses[i], one.losses[i]));
    norm = std::max(norm, deviation(other[0].norms[i], one.norms[i]));
    if (i == 0) first = std::max(loss, norm);
    const double of_loss = i == 0 ? bounds.first : bounds.loss, of_norm = i == 0 ? bounds.first : bounds.norm;
    EXPECT_NEAR(other[0].losses[i], one.losses[i], of_loss * one.losses[i]) << layout.name() << " step " << i;
    EXPECT_NEAR(other[0].norms[i], one.norms[i], of_norm * one.norms[i]) << layout.name() << " step " << i;
  }
  testing::Test::RecordProperty("first", fmt::format("{:.2e}", first));
  testing::Test::RecordProperty("loss", fmt::format("{:.2e}", loss));
  testing::Test::RecordProperty("norm", fmt::format("{:.2e}", norm));
  for (size_t rank = 0; rank < other.size(); ++rank) {
    EXPECT_EQ(other[rank].losses, other[0].losses) << layout.name() << " rank " << rank;
    EXPECT_EQ(other[rank].values, other[rank % layout.tp].values) << "replicas differ, " << layout.name();
  }
}

const LayoutRun& reference(const LayoutCase& c) {
  static std::map<std::string, LayoutRun> known;
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {}", c.seq2seq, c.vocabulary, c.steps,
                                      static_cast<int>(c.precision), static_cast<int>(c.norm), c.embedding_width,
                                      c.heads, c.kv_heads, static_cast<int>(c.positions), c.scale_embedding, c.bias);
  const auto at = known.find(key);
  return at != known.end() ? at->second : known.emplace(key, train(c, {})[0]).first->second;
}

class Parity : public testing::TestWithParam<Cell> {};

TEST_P(Parity, LayoutsGiveTheSameRun) {
  const auto& [model, what, layout] = GetParam();
  const LayoutRun& one = reference(what);
  if (what.steps >= 50) {
    EXPECT_LT(one.losses.back(), one.losses.front() - 1);
  }
  const auto other = train(what, layout);
  expect_same_run(what, layout, one, other);
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

// Every cell of layouts x models x knobs that have an effect, for 50 steps, and every layout in bf16 with all that
// divides: bench/parity.sh runs it and keeps the table.
std::vector<Cell> whole_matrix() {
  std::vector<Cell> cells;
  if (!std::getenv("WEFT_WHOLE_MATRIX")) return cells;
  for (const bool seq2seq : {false, true}) {
    for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 4}, {2, 2}, {4, 2}, {2, 4}, {4, 4}}) {
      for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
        for (const bool sequence : {false, true}) {
          for (const Recompute recompute : {Recompute::None, Recompute::Attention, Recompute::Block}) {
            if ((dp == 1 && zero != ZeroStage::Whole) || (tp == 1 && sequence)) continue;
            cells.push_back({seq2seq ? "Seq2Seq" : "Gpt",
                             {.seq2seq = seq2seq, .steps = 50},
                             {.dp = dp, .tp = tp, .zero = zero, .sequence = sequence, .recompute = recompute}});
          }
        }
      }
      cells.push_back(
          {seq2seq ? "Seq2SeqBf16" : "GptBf16",
           {.seq2seq = seq2seq, .steps = 50, .precision = Precision::Bf16},
           {.dp = dp, .tp = tp, .zero = dp > 1 ? ZeroStage::Optimizer : ZeroStage::Whole, .sequence = tp > 1}});
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Whole, Parity, testing::ValuesIn(whole_matrix()), cell_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Parity);

// Data parallel alone, for longer: any number of replicas, any micro-batch, and two runs of one layout bit for bit.
TEST(DataParallel, AnyReplicasAndMicroBatchesGiveTheSameRun) {
  for (const bool seq2seq : {false, true}) {
    const LayoutCase what{.seq2seq = seq2seq, .steps = 50};
    EXPECT_LT(reference(what).losses.back(), reference(what).losses.front() - 1);
    for (const Layout& layout : {Layout{.micro_rows = 34}, Layout{.dp = 2}, Layout{.dp = 3, .micro_rows = 40},
                                 Layout{.dp = 7, .zero = ZeroStage::Gradients}}) {
      const auto first = train(what, layout);
      expect_same_run(what, layout, reference(what), first);
      const auto second = train(what, layout);
      for (size_t r = 0; r < first.size(); ++r) EXPECT_EQ(first[r].values, second[r].values) << layout.name();
    }
  }
}

// The largest step, tried before the first and in the middle, leaves no trace in any bit.
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
    const auto model = make_model(context, mesh, config, {.target = 50});
    model->allocate(Precision::Fp32, true);
    model->parameters().initialise(4);
    Optimizer optimizer(context, model->parameters(), {});
    TrainingStep step(*model, optimizer, {.clip_norm = 1.0});
    const auto plan = make_window_plan({.sequences = 4, .context_length = 8}, 200, 1);
    const test::PatternReader reader(50);
    const auto batches = read_step(plan->step(0, 0), reader, mesh.dp().rank(), 2, 0);
    int64_t updates = 0;
    StepState state{.learning_rate = 1e-2};
    step.run(batches, state, updates, 0, {});
    EXPECT_EQ(updates, 1);
    const Tensor& flat = model->parameters().flat_value();
    const std::vector<float> before(flat.data<float>(), flat.data<float>() + flat.elements());
    // An infinite weight on one rank alone: its loss is not a number, the others' may be.
    float* w = model->parameters().find("decoder.embedding.positions")->value().data<float>();
    const float kept = w[3];
    if (rank == 3) w[3] = std::numeric_limits<float>::infinity();
    const StepReport report = step.run(batches, state, updates, 0, {});
    if (rank == 3) w[3] = kept;
    EXPECT_TRUE(report.skipped);
    EXPECT_EQ(updates, 1);
    EXPECT_EQ(0, std::memcmp(before.data(), flat.raw(), flat.bytes()));
    const StepReport healed = step.run(batches, state, updates, 0, {});
    EXPECT_FALSE(healed.skipped);
  });
}

}  // namespace
}  // namespace weft
