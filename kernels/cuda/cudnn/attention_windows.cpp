// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cudnn/attention_windows.h"

#include <algorithm>

#include "kernels/cuda/tuning.h"

namespace weft::cuda {
namespace {

template <class Args>
const char* beyond(const Args& args) {
  if (args.out.dtype() != DType::BF16) return "it computes in bf16 alone";
  if (args.window > 0) return "each query sees a window of keys, in whose tiles weft's own kernels compute less";
  if (args.heads.queries != 1) return "several query heads share a key/value head, which no stride describes";
  if (args.dropout.active()) return "attention's weights have dropout, whose masks are weft's own";
  if (!args.query_offsets->one_length() || !args.key_offsets->one_length()) return "sequences have several lengths";
  const int64_t shorter = std::min(args.query_offsets->longest, args.key_offsets->longest);
  if (shorter < tuning::kShortestWindow) return "sequences are shorter than 64 tokens";
  return nullptr;
}

template <class Args>
AttentionWindows windows(const Args& args, bool backward) {
  return {.backward = backward,
          .cross = !args.qkv,
          .causal = args.causal,
          .sequences = args.query_offsets->sequences(),
          .queries = args.query_offsets->longest,
          .keys = args.key_offsets->longest,
          .heads = args.heads.kv_heads,
          .head_dim = args.heads.head_dim,
          .scale = args.scale};
}

// One of the `parts` pieces of head_dim that each head has side by side in a row.
WindowLayout packed(const AttentionWindows& w, int64_t length, int64_t parts, int64_t part) {
  const int64_t head = parts * w.head_dim, row = w.heads * head;
  return {.length = length, .first = part * w.head_dim, .strides = {length * row, head, row}};
}

}  // namespace

AttentionLayout layout_of(const AttentionWindows& w) {
  const int64_t query_parts = w.cross ? 1 : 3, key_parts = w.cross ? 2 : 3, first_key = w.cross ? 0 : 1;
  return {.query = packed(w, w.queries, query_parts, 0),
          .key = packed(w, w.keys, key_parts, first_key),
          .value = packed(w, w.keys, key_parts, first_key + 1),
          .out = packed(w, w.queries, 1, 0),
          .log_sum = {.length = w.queries, .strides = {w.queries, w.sequences * w.queries, 1}}};
}

const char* beyond_cudnn(const AttentionForward& args) { return beyond(args); }
const char* beyond_cudnn(const AttentionBackward& args) { return beyond(args); }
AttentionWindows windows_of(const AttentionForward& args) { return windows(args, false); }
AttentionWindows windows_of(const AttentionBackward& args) { return windows(args, true); }

}  // namespace weft::cuda
