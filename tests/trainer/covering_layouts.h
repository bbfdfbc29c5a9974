// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "tests/trainer/layout_run.h"

namespace weft::test {

// A model on a layout.
struct Cell {
  std::string model;
  LayoutCase what;
  Layout layout;
};

inline void PrintTo(const Cell& cell, std::ostream* out) { *out << cell.model << " " << cell.layout.name(); }

inline std::string cell_name(const testing::TestParamInfo<Cell>& info) {
  return info.param.model + "_" + info.param.layout.name();
}

// The covering set of every test run: each pair of knobs, each layout and each option of a model occurs.
inline std::vector<Cell> covering() {
  const LayoutCase gpt{}, seq2seq{.seq2seq = true};
  // Both tp 2 and tp 4 divide these groups of query heads.
  const LayoutCase grouped{.heads = 8, .kv_heads = 2}, grouped_seq2seq{.seq2seq = true, .heads = 8, .kv_heads = 4};
  const LayoutCase sinusoidal{.positions = Positions::Sinusoidal, .scale_embedding = true, .bias = false};
  LayoutCase projected = sinusoidal, sinusoidal_seq2seq = sinusoidal;
  projected.embedding_width = 40, sinusoidal_seq2seq.seq2seq = true;
  const LayoutCase documents{.document_mask = true};
  const ZeroStage optimizer = ZeroStage::Optimizer, gradients = ZeroStage::Gradients;
  const Recompute attention = Recompute::Attention, block = Recompute::Block;
  // Adapters on every kind of product; a third of the model frozen, the rest with learning rates of their own.
  const LoraConfig adapters{.rank = 4, .dropout = 0.1, .targets = {"attention.*", "ffn.*"}};
  const LayoutCase lora{.lora = adapters};
  LayoutCase lora_seq2seq{.seq2seq = true, .lora = adapters};
  lora_seq2seq.lora.targets.push_back("cross.*");
  const LayoutCase partly{.freeze = {"decoder.embedding.*", "decoder.0.*", "output.*"},
                          .groups = {{.match = {"decoder.1.ffn.*"}, .learning_rate_scale = 0.1, .weight_decay = 0}}};
  return {
      {"Gpt", gpt, {.dp = 1, .tp = 2}},
      {"Gpt", gpt, {.dp = 2, .tp = 1, .zero = optimizer, .recompute = attention}},
      {"Gpt", gpt, {.dp = 4, .tp = 1, .zero = gradients, .micro_rows = 40}},
      {"Gpt", gpt, {.dp = 1, .tp = 4, .sequence = true}},
      {"Gpt", gpt, {.dp = 2, .tp = 2, .zero = gradients, .sequence = true, .recompute = block}},
      {"Gpt", gpt, {.dp = 4, .tp = 4, .zero = optimizer}},
      {"Seq2Seq", seq2seq, {.dp = 1, .tp = 2, .sequence = true, .recompute = attention}},
      {"Seq2Seq", seq2seq, {.dp = 1, .tp = 4, .recompute = block}},
      {"Seq2Seq", seq2seq, {.dp = 2, .tp = 1, .zero = gradients, .micro_rows = 50}},
      {"Seq2Seq", seq2seq, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true}},
      {"Seq2Seq", seq2seq, {.dp = 4, .tp = 2, .zero = optimizer, .recompute = attention}},
      {"Seq2Seq", seq2seq, {.dp = 2, .tp = 4, .zero = gradients, .sequence = true}},
      {"Seq2SeqPostNorm", {.seq2seq = true, .norm = NormPlacement::Post}, {.dp = 1, .tp = 2, .sequence = true}},
      {"Projected", {.embedding_width = 40}, {.dp = 2, .tp = 2, .sequence = true}},
      {"GptGrouped", grouped, {.dp = 1, .tp = 2}},
      {"GptGrouped", grouped, {.dp = 2, .tp = 2, .sequence = true, .recompute = attention}},
      {"Seq2SeqGrouped", grouped_seq2seq, {.dp = 1, .tp = 4, .sequence = true, .recompute = block}},
      {"GptDocuments", documents, {.dp = 1, .tp = 2}},
      {"GptDocuments", documents, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true, .recompute = attention}},
      {"GptDocuments", documents, {.dp = 4, .tp = 1, .zero = gradients, .micro_rows = 40}},
      {"GptSinusoidal", sinusoidal, {.dp = 1, .tp = 2}},
      {"GptSinusoidal", sinusoidal, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true}},
      {"Seq2SeqSinusoidal", sinusoidal_seq2seq, {.dp = 1, .tp = 4, .sequence = true}},
      {"ProjectedSinusoidal", projected, {.dp = 1, .tp = 2, .sequence = true, .recompute = block}},
      {"GptLargeVocabulary",
       {.vocabulary = 50257, .steps = 2},
       {.dp = 2, .tp = 4, .zero = optimizer, .sequence = true}},
      {"GptLora", lora, {.dp = 1, .tp = 2}},
      {"GptLora", lora, {.dp = 2, .tp = 1, .zero = gradients, .recompute = attention, .micro_rows = 40}},
      {"GptLora", lora, {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true, .recompute = block}},
      {"GptLora", lora, {.dp = 1, .tp = 4, .sequence = true}},
      {"Seq2SeqLora", lora_seq2seq, {.dp = 2, .tp = 2, .zero = gradients, .sequence = true, .recompute = attention}},
      {"GptPartlyFrozen", partly, {.dp = 2, .tp = 2, .sequence = true}},
      {"GptPartlyFrozen", partly, {.dp = 4, .tp = 1, .zero = gradients, .recompute = block}},
      {"GptPartlyFrozen", partly, {.dp = 2, .tp = 2, .zero = optimizer}},
      {"GptLoraBf16",
       {.precision = Precision::Bf16, .lora = adapters},
       {.dp = 2, .tp = 2, .zero = optimizer, .sequence = true}},
      {"GptBf16", {.precision = Precision::Bf16}, {.dp = 2, .tp = 2, .zero = gradients, .sequence = true}},
      {"Seq2SeqBf16", {.seq2seq = true, .precision = Precision::Bf16}, {.dp = 2, .tp = 2, .zero = optimizer}},
  };
}

}  // namespace weft::test
