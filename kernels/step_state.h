// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/tensor.h"

namespace weft {

// Everything that changes from step to step, as a value that operations take; each scalar is here and nowhere else.
struct StepState {
  double learning_rate = 0;
  double bias_correction1 = 1;  // 1 - beta1^t, t counted from 1 over the steps that were not skipped
  double bias_correction2 = 1;
  double clip = 1;             // gradients are multiplied by it: min(1, clip_norm / norm)
  double inverse_divisor = 1;  // 1 / (valid target tokens of the whole step), known before its first forward
  uint64_t dropout_key = 0;    // Philox key of this step: a hash of (seed, step)
  bool skip = false;           // non-finite loss or norm somewhere: an update changes nothing
  uint8_t unused[7] = {};      // devices get the bytes as they are: none of them is left unset
  // Where a step is replayed (kernels/device/operation_graph.h): these values as the device has them, which operations
  // read in place of those above. Null: it is not.
  const StepState* on_device = nullptr;
};

// Which sequence and which position each row of activations belongs to, as logical indices: the dropout key is
// (seed, step, site, sequence, position, channel), so masks do not depend on rank, slicing or recomputation.
struct RowIds {
  Tensor sequence;  // i32[rows], read as u32: the sequence's number in the step
  Tensor position;  // i32[rows]
};

// Inverted dropout: an element is kept with probability 1 - p and scaled by 1 / (1 - p).
// Element (row, channel): 16 bits of Philox(dropout_key ^ dropout_id)({channel / 8, position, sequence, head}), lane
// channel % 8 (low half of word 0, high half of word 0, low half of word 1, ...); dropped if bits < threshold,
// threshold = round(p * 65536); the scale uses the rounded probability.
struct Dropout {
  double probability = 0;
  uint64_t dropout_id = 0;    // of the site in the model: a hash of its name, the same on every layout
  int64_t first_channel = 0;  // global index of this tensor's channel 0 (a tensor-parallel shard starts later)
  StepState step;
  RowIds rows;
  bool active() const { return probability > 0; }
  uint32_t threshold() const { return static_cast<uint32_t>(probability * 65536.0 + 0.5); }
  double scale() const { return 65536.0 / (65536.0 - threshold()); }
};

}  // namespace weft
