// SPDX-License-Identifier: Apache-2.0
// Rows that fill a micro-batch up to a bucket change nothing. On a CPU, where no job is padded, the model is the same.
#include <gtest/gtest.h>

#include "data/batches/padded_shape.h"
#include "tests/trainer/fixture/covering_layouts.h"

namespace weft {
namespace {

using namespace test;
using test::Layout;

struct Trained {
  std::vector<double> losses, norms;
  std::vector<uint64_t> values;
  int64_t tokens = 0;
};

// `change` is applied to each padded micro-batch.
Trained train(const LayoutCase& what, const Layout& layout, const std::function<void(MicroBatch&)>& change = {}) {
  Context context;
  Mesh mesh = Mesh::single();
  LayoutModel model(what, layout, mesh, context);
  model.change_batches(change);
  Trained trained;
  for (uint64_t i = 0; i < 6; ++i) {
    const StepReport report = model.step({.learning_rate = 3e-3, .dropout_key = i});
    trained.losses.push_back(report.outcome.loss), trained.norms.push_back(report.outcome.gradient_norm);
    trained.tokens += report.outcome.tokens;
  }
  trained.values = value_hashes(context, model.model().parameters());
  return trained;
}

class PaddingRows : public testing::TestWithParam<Cell> {};

// In fp64 sums that are divided otherwise agree to 1e-12.
TEST_P(PaddingRows, GiveTheLossesOfStepsWithout) {
  const auto& [model, what, layout] = GetParam();
  Layout padded = layout;
  padded.padded = true;
  const Trained without = train(what, layout), with = train(what, padded);
  EXPECT_EQ(with.tokens, without.tokens);
  for (size_t i = 0; i < without.losses.size(); ++i) {
    EXPECT_NEAR(with.losses[i], without.losses[i], 1e-10) << i;
    EXPECT_NEAR(with.norms[i], without.norms[i], 1e-10 * (1 + without.norms[i])) << i;
  }
}

// Gives the padding rows other tokens and their sequences another dropout. Returns the number of rows.
int64_t change_padding(MicroBatch& micro) {
  size_t rows = micro.targets.size();
  while (micro.targets[rows - 1] < 0) --rows;
  for (size_t i = rows; i < micro.input.tokens.size(); ++i) micro.input.tokens[i] = 3 + static_cast<int32_t>(i % 5);
  const auto sources = static_cast<size_t>(micro.padding_rows) - (micro.input.tokens.size() - rows);
  for (size_t i = 1; i <= sources; ++i) micro.source.tokens[micro.source.tokens.size() - i] = 7;
  for (size_t s = 0; s < micro.sequence_ids.size(); ++s) {
    if (micro.input.offsets[s] >= static_cast<int32_t>(rows)) micro.sequence_ids[s] = 5;
  }
  return micro.padding_rows;
}

// Whatever they hold, and whichever dropout they draw: the same bits.
TEST_P(PaddingRows, LeaveNoTrace) {
  const auto& [model, what, layout] = GetParam();
  Layout padded = layout;
  padded.padded = true;
  int64_t changed = 0;
  const Trained zeros = train(what, padded);
  const Trained other = train(what, padded, [&](MicroBatch& micro) { changed += change_padding(micro); });
  EXPECT_GT(changed, 0);
  EXPECT_EQ(other.losses, zeros.losses);
  EXPECT_EQ(other.norms, zeros.norms);
  EXPECT_EQ(other.values, zeros.values);
}

std::vector<Cell> cells() {
  const Precision fp64 = Precision::Fp64;
  const LoraConfig adapters{.rank = 4, .dropout = 0.1, .targets = {"attention.*", "ffn.*", "cross.*"}};
  return {{"Pairs", {.seq2seq = true, .precision = fp64}, {}},
          {"PairsInPieces", {.seq2seq = true, .precision = fp64}, {.recompute = Recompute::Block, .micro_rows = 60}},
          {"PairsLora", {.seq2seq = true, .precision = fp64, .padding_id = 0, .lora = adapters}, {}}};
}

INSTANTIATE_TEST_SUITE_P(Layouts, PaddingRows, testing::ValuesIn(cells()), cell_name);

}  // namespace
}  // namespace weft
