// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/config/fields.h"
#include "data/batches/batch.h"

namespace weft {

enum class BatchOrder {
  Shuffled,  // every sequence once an epoch, in random order
  Bucketed,  // every pair once an epoch, pairs of similar length together, the groups in random order
  Random,    // windows that begin anywhere, drawn with replacement
};
template <>
struct EnumNames<BatchOrder> {
  static constexpr auto kNames = enum_names<BatchOrder>("shuffled", "bucketed", "random");
};

enum class TokenCount {
  Target,  // sum of the target tokens to be predicted
  Total,   // sum of the source and target tokens
  Padded,  // sequences x the longest source or target among them, as if they were padded (fairseq's max-tokens)
};
template <>
struct EnumNames<TokenCount> {
  static constexpr auto kNames = enum_names<TokenCount>("target", "total", "padded");
};

// The sequences that one optimizer step takes, on any layout. docs/batches.md explains each choice.
struct BatchConfig {
  int64_t sequences = 0;
  int64_t tokens = 0;
  TokenCount token_count = TokenCount::Target;
  BatchOrder order = BatchOrder::Shuffled;
  int64_t buckets_per_step = 1;
  int64_t context_length = 0;
  bool shift_windows = true;
  bool drop_last = false;
  int64_t micro_batch_tokens = 8192;
  int64_t leaf_tokens = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v.field("sequences", sequences, "Windows or pairs a step, over all ranks. 0: as many as `tokens` allows.",
            Range{.min = 0, .max = 1 << 30});
    v.field(
        "tokens", tokens,
        "Token budget of a step, over all ranks, instead of `sequences`; for windows a multiple of `context_length`.",
        Range{.min = 0, .max = 1LL << 40});
    v.field("token_count", token_count,
            "What `tokens` counts (pairs): target tokens (of a prompt with its answer all), source and target (total), "
            "or pairs x the longest sequence "
            "(padded).");
    v.field("order", order,
            "shuffled: each sequence once an epoch; bucketed: so, with pairs of similar length together; random: "
            "windows drawn with replacement.");
    v.field("buckets_per_step", buckets_per_step,
            "Buckets (pairs of similar length) that make up a step, each with its share of `sequences` or `tokens` "
            "(bucketed).",
            Range{.min = 1, .max = 1 << 20});
    v.field("context_length", context_length, "Input tokens a window (streams). 0: the model's max_length.",
            Range{.min = 0, .max = 1 << 24});
    v.field("shift_windows", shift_windows,
            "Shuffled windows begin at another random offset every epoch, so that they differ.");
    v.field("drop_last", drop_last,
            "true: what does not fill a step at an epoch's end is left out; false: the last step may be smaller.");
    v.field(
        "micro_batch_tokens", micro_batch_tokens,
        "Tokens (source and target) that a rank takes through the model at once: a memory limit that changes results "
        "by rounding alone. 0: its whole share.",
        {Range{.min = 0, .max = 1LL << 31}, Affects::Nothing});
    v.field(
        "leaf_tokens", leaf_tokens,
        "With numerics: same_bits, instead of micro_batch_tokens: the most tokens (source and target) of a leaf, the "
        "part of a step that a rank takes through the model at once. Steps are cut into the same leaves on any "
        "number of ranks, and results depend on how.",
        Range{.min = 0, .max = 1LL << 31});
  }

  // How steps are cut into micro-batches, and the most tokens of one; 0: no limit.
  StepCut cut() const { return leaf_tokens > 0 ? StepCut::Leaves : StepCut::Shares; }
  int64_t most_tokens_at_once() const { return leaf_tokens > 0 ? leaf_tokens : micro_batch_tokens; }

  // ConfigError if fields contradict each other or do not suit the data: a stream, or pairs.
  void check_for_windows() const;
  void check_for_pairs() const;
};

}  // namespace weft
