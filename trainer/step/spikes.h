// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "checkpoint/run_state.h"
#include "job/sections.h"

namespace weft {

// The highest loss and gradient norm of a step that is not a spike.
struct SpikeLimits {
  double loss = std::numeric_limits<double>::infinity();
  double norm = std::numeric_limits<double>::infinity();

  bool passed_by(double step_loss, double step_norm) const { return step_loss > loss || step_norm > norm; }
};

// The limits of the next step: mean and `bound` standard deviations of the window in `state`. No limit until the window
// is full, nor where all its values are equal. Sums are taken in f64 from the oldest step on, so that all ranks, and a
// run that was resumed, decide alike.
SpikeLimits spike_limits(const SpikesConfig& spikes, const RunState& state);

// Adds a step that was not skipped to the window in `state`.
void note_recent(const SpikesConfig& spikes, double loss, double norm, RunState& state);

}  // namespace weft
