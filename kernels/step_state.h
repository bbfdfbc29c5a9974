// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "kernels/tensor.h"

namespace weft {

// The scalars that change from step to step, as a value that operations take. Nothing else carries them.
struct StepState {
  double learning_rate = 0;
  double bias_correction1 = 1;  // 1 - beta1^t, t counted from 1, skipped steps left out
  double bias_correction2 = 1;
  double clip = 1;             // factor of all gradients: min(1, clip_norm / norm)
  double inverse_divisor = 1;  // 1 / (valid target tokens of the whole step), known before its first forward
  uint64_t dropout_key = 0;    // Philox key of this step: a hash of (seed, step)
  bool skip = false;           // an update changes nothing: loss or norm was not finite on some rank
  uint8_t unused[7] = {};      // padding: devices get the struct's bytes, all of them defined
  // In a replayed step (kernels/device/operation_graph.h) operations read these values in the device's memory instead
  // of those above. Null in any other step.
  const StepState* on_device = nullptr;
};

// The sequence and the position of each row of activations, as logical indices: the dropout key is
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
  uint64_t dropout_id = 0;    // hash of the site's name in the model, equal in every layout
  int64_t first_channel = 0;  // global index of this tensor's channel 0 (not 0 in a tensor-parallel shard)
  StepState step;
  RowIds rows;
  bool active() const { return probability > 0; }
  uint32_t threshold() const { return static_cast<uint32_t>(probability * 65536.0 + 0.5); }
  double scale() const { return 65536.0 / (65536.0 - threshold()); }
};

}  // namespace weft
