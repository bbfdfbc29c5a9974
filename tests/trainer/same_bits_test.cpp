// SPDX-License-Identifier: Apache-2.0
// With numerics: same_bits a run has one result on any number of replicas: every loss, every norm, every weight.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "parallel/local/in_process.h"
#include "tests/trainer/fixture/covering_layouts.h"

namespace weft {
namespace {

using namespace test;

using test::Layout;

std::vector<LayoutRun> train(const LayoutCase& c, const Layout& layout) {
  std::vector<LayoutRun> runs(static_cast<size_t>(layout.dp * layout.tp));
  run_in_process({.dp = layout.dp, .tp = layout.tp}, [&](Mesh& mesh, int rank) {
    Context context(Device{}, 1);
    runs[static_cast<size_t>(rank)] = test::train(c, layout, mesh, context);
  });
  return runs;
}

void expect_same_bits(const std::vector<LayoutRun>& ranks, const std::vector<LayoutRun>& one, const Layout& layout) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const LayoutRun& expected = one[rank % static_cast<size_t>(layout.tp)];
    EXPECT_EQ(ranks[rank].losses, expected.losses) << layout.name() << " rank " << rank;
    EXPECT_EQ(ranks[rank].norms, expected.norms) << layout.name() << " rank " << rank;
    EXPECT_EQ(ranks[rank].parameters, expected.parameters) << layout.name() << " rank " << rank;
  }
}

// One replica without any option, at the layout's tp.
Layout plain(const Layout& layout) {
  return {.tp = layout.tp,
          .sequence = layout.sequence,
          .micro_rows = layout.micro_rows,
          .padded = layout.padded,
          .exact = true};
}

class SameBits : public testing::TestWithParam<Cell> {};

TEST_P(SameBits, BelongToNoLayout) {
  const auto& [model, what, layout] = GetParam();
  expect_same_bits(train(what, layout), train(what, plain(layout)), layout);
}

const LayoutCase kGpt{}, kPairs{.seq2seq = true};

LayoutCase with_blocks(Blocks blocks) { return {.blocks = blocks}; }
LayoutCase in_bf16(LayoutCase what) {
  what.precision = Precision::Bf16;
  return what;
}

// Each option that decides how gradients are summed, and each kind of parameter.
std::vector<Cell> covering_cells() {
  const ZeroStage optimizer = ZeroStage::Optimizer, gradients = ZeroStage::Gradients;
  const LoraConfig adapters{.rank = 4, .dropout = 0.1, .targets = {"attention.*", "ffn.*"}};
  LayoutCase lora = with_blocks(Blocks::Llama), frozen = kGpt, documents = kGpt;
  lora.lora = adapters;
  frozen.freeze = {"decoder.embedding.*", "decoder.0.*", "output.*"};
  documents.document_mask = true;
  std::vector<Cell> cells = {
      {"Gpt", kGpt, {.dp = 2}},
      {"Gpt", kGpt, {.dp = 3, .zero = optimizer, .recompute = Recompute::Block}},
      {"Gpt", kGpt, {.dp = 5, .zero = gradients}},
      {"Gpt", kGpt, {.dp = 2, .tp = 2, .zero = gradients, .sequence = true}},
      {"GptTp4", kGpt, {.dp = 2, .tp = 4, .zero = optimizer, .sequence = true}},
      {"GptBf16", in_bf16(kGpt), {.dp = 4, .zero = optimizer}},
      {"GptDocuments", documents, {.dp = 3, .zero = gradients}},
      {"GptFrozen", frozen, {.dp = 3, .zero = optimizer}},
      {"LlamaLora", lora, {.dp = 2, .zero = gradients}},
      {"Pairs", kPairs, {.dp = 3, .zero = gradients}},
      {"PairsBf16", in_bf16(kPairs), {.dp = 2, .zero = optimizer}},
      {"PairsPadded", kPairs, {.dp = 2, .padded = true}},
  };
  for (Cell& cell : cells) cell.layout.micro_rows = cell.what.seq2seq ? 50 : 34, cell.layout.exact = true;
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Covering, SameBits, testing::ValuesIn(covering_cells()), cell_name);

// dp 1, 2, 3, 4, 7 and 8 at every ZeRO stage, in both precisions, for 200 steps of nine leaves or more.
std::vector<Cell> whole_cells() {
  std::vector<Cell> cells;
  if (!std::getenv("WEFT_WHOLE_MATRIX")) return cells;
  for (const LayoutCase& what : {kGpt, in_bf16(kGpt), kPairs, in_bf16(kPairs)}) {
    for (const int dp : {2, 3, 4, 7, 8}) {
      for (const ZeroStage zero : {ZeroStage::Whole, ZeroStage::Optimizer, ZeroStage::Gradients}) {
        const std::string name =
            fmt::format("{}{}", what.seq2seq ? "Pairs" : "Gpt", what.precision == Precision::Bf16 ? "Bf16" : "Fp32");
        cells.push_back({name, what, {.dp = dp, .zero = zero, .micro_rows = what.seq2seq ? 34 : 33, .exact = true}});
        cells.back().what.steps = 200, cells.back().what.sequences = 9;
      }
    }
  }
  return cells;
}

INSTANTIATE_TEST_SUITE_P(Whole, SameBits, testing::ValuesIn(whole_cells()), cell_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SameBits);

// The sums are others than the ordinary ones, by rounding alone.
TEST(SameBitsNumerics, AreWithinRoundingOfOrdinaryOnes) {
  for (const auto& [what, tp] : {std::pair(kGpt, 1), std::pair(kPairs, 2), std::pair(with_blocks(Blocks::Qwen3), 2)}) {
    const Layout layout{.tp = tp, .sequence = tp > 1, .micro_rows = what.seq2seq ? 50 : 34};
    Layout same_bits = layout;
    same_bits.exact = true;
    const LayoutRun ordinary = train(what, layout)[0], exact = train(what, same_bits)[0];
    ASSERT_EQ(exact.losses.size(), ordinary.losses.size());
    for (size_t i = 0; i < exact.losses.size(); ++i) {
      EXPECT_NEAR(exact.losses[i], ordinary.losses[i], 1e-4 * ordinary.losses[i]) << i;
      EXPECT_NEAR(exact.norms[i], ordinary.norms[i], 1e-3 * ordinary.norms[i]) << i;
    }
    EXPECT_NEAR(exact.losses[0], ordinary.losses[0], 1e-6 * ordinary.losses[0]);
    EXPECT_NEAR(exact.norms[0], ordinary.norms[0], 1e-6 * ordinary.norms[0]);
  }
}

// Ordinary sums differ on these layouts: the test above would notice.
TEST(SameBitsNumerics, DifferFromOrdinaryOnesInWhatTheyPromise) {
  const LayoutRun one = train(kGpt, {.micro_rows = 34})[0], three = train(kGpt, {.dp = 3, .micro_rows = 34})[0];
  EXPECT_NE(one.parameters, three.parameters);
}

}  // namespace
}  // namespace weft
