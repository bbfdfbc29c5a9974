// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <compare>
#include <cstdint>

#include "kernels/ops/attention.h"

namespace weft::cuda {

// Attention over sequences of one length, which strides alone describe: the only kind that cuDNN computes here.
struct AttentionWindows {
  bool backward = false;
  bool cross = false;  // Q beside packed KV instead of packed QKV
  bool causal = false;
  int64_t sequences = 0;
  int64_t queries = 0, keys = 0;  // rows of one sequence
  int64_t heads = 0, head_dim = 0;
  double scale = 1;
  std::partial_ordering operator<=>(const AttentionWindows&) const = default;
};

// A tensor's head_dim neighbours of a sequence, head and row begin at element first + sequence * strides[0] +
// head * strides[1] + row * strides[2].
struct WindowLayout {
  int64_t length = 0;  // rows of a sequence
  int64_t first = 0;
  std::array<int64_t, 3> strides{};
};
// The layout of the tensors of kernels/ops/attention.h: queries, keys and values in their packed rows, and so the
// gradients of all three; rows of out and dout; log_sum with one element for each row.
struct AttentionLayout {
  WindowLayout query, key, value, out, log_sum;
};
AttentionLayout layout_of(const AttentionWindows& windows);

// Why cuDNN cannot compute these arguments as weft's own kernels do, as the end of a sentence; null if it can. Shapes
// alone decide, so that a call is computed the same way whatever ran before it.
const char* beyond_cudnn(const AttentionForward& args);
const char* beyond_cudnn(const AttentionBackward& args);
// For arguments that cuDNN can compute.
AttentionWindows windows_of(const AttentionForward& args);
AttentionWindows windows_of(const AttentionBackward& args);

}  // namespace weft::cuda
