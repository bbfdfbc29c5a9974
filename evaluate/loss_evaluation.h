// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

#include "data/batches/loader.h"
#include "data/dataset/dataset.h"
#include "model/transformer.h"

namespace weft {

// Sums over a split, in which every scored target counts once, whatever the layout.
struct LossReport {
  double nll = 0;   // nats
  double loss = 0;  // with label smoothing, nats
  int64_t targets = 0;
  int64_t sequences = 0;
  int64_t left_out = 0;  // pairs that do not fit options.max_length, or have no source
  int64_t steps = 0;     // steps of the plan; all replicas take part in each
  double seconds = 0;
  bool given_up = false;  // give_up() returned true: the sums are incomplete
  double mean_nll() const { return targets > 0 ? nll / static_cast<double>(targets) : 0; }
  double mean_loss() const { return targets > 0 ? loss / static_cast<double>(targets) : 0; }
};

// Collective over the mesh: dp ranks take slices of each step of the plan, and the sums are reduced at the end. All
// ranks call `give_up`, if given, before the same steps, every fourth one; it must return the same on all ranks.
LossReport evaluate_loss(Transformer& model, const std::shared_ptr<const Dataset>& dataset,
                         const EvaluationOptions& options, double label_smoothing,
                         const std::function<bool()>& give_up = {});

}  // namespace weft
