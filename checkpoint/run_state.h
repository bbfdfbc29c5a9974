// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/batches/batch_plan.h"

namespace weft {

struct CheckpointManifest;

// The state of a run besides its tensors. Every checkpoint stores it; it is equal on all ranks.
struct RunState {
  std::string run;      // id of the run, the same in all attempts
  int64_t step = 0;     // optimizer steps done, skipped ones included
  int64_t updates = 0;  // steps that changed the weights
  Position position;    // position of the next step in the batch plan
  int64_t target_tokens = 0;
  int64_t skips = 0, skips_in_row = 0;
  int64_t rollbacks = 0;  // returns to an earlier checkpoint after a divergence
  // Loss of the best evaluation, and its score if a translation metric decides which evaluation is the best.
  double best_loss = std::numeric_limits<double>::infinity();
  std::optional<double> best_score;
  // What the best values were measured on, by name: scores of two evaluations compare only if this is equal. Empty if
  // there is no validation split; earlier builds did not store it.
  std::map<std::string, std::string> evaluation;
  int64_t best_step = -1;
  int64_t evaluations_since_best = 0;        // stored as "without_gain", its name in the first builds
  bool epoch_end = false;                    // the last step ended an epoch
  bool evaluation_left = false;              // an evaluation is due at this step, but a stop came first
  std::optional<double> next_learning_rate;  // learning rate of the next step; the first builds did not store it
  // Of the last steps that were not skipped, the oldest first, as many as train.spikes.window; empty if that is 0.
  std::vector<double> recent_losses, recent_norms;
  // With numerics: same_bits, by parameter: the exponents of the next step's sums (trainer/step/exponents.h).
  std::vector<int32_t> exponents;

  // The next evaluation counts as the best, whatever its score. The checkpoint of best_step stays the best until then.
  void forget_best_scores() {
    best_loss = std::numeric_limits<double>::infinity();
    best_score.reset();
    evaluations_since_best = 0;
  }

  bool operator==(const RunState&) const = default;
};

nlohmann::ordered_json to_json(const RunState& state);
RunState run_state_from(const nlohmann::ordered_json& json, const std::string& where);  // DataError if it is invalid
// The run state in a checkpoint's manifest. DataError with the checkpoint's path.
RunState run_state_of(const CheckpointManifest& manifest, const fs::path& checkpoint);

}  // namespace weft
