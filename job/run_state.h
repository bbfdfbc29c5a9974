// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "data/batches/batch_plan.h"

namespace weft {

// What a run is besides its tensors: stored with every checkpoint, equal on all ranks.
struct RunState {
  std::string run;      // id of the run, the same over all attempts
  int64_t step = 0;     // optimizer steps done, skipped ones included
  int64_t updates = 0;  // steps that changed the weights
  Position position;    // of the next step
  int64_t target_tokens = 0;
  int64_t skips = 0, skips_in_row = 0;
  int64_t rollbacks = 0;  // to an earlier checkpoint, after a divergence
  double best_loss = std::numeric_limits<double>::infinity();
  std::optional<double> best_score;  // of the best evaluation too, if a metric of translations decides
  int64_t best_step = -1;
  int64_t evaluations_since_best = 0;        // stored as "without_gain", its name in the first builds
  bool epoch_end = false;                    // the step before ended an epoch
  bool evaluation_left = false;              // one is due at this step, and a stop came first
  std::optional<double> next_learning_rate;  // of the next step, where it was stored

  // The next evaluation counts as the best, whatever it finds. The checkpoint of best_step stays the best until then.
  void forget_best_scores() {
    best_loss = std::numeric_limits<double>::infinity();
    best_score.reset();
    evaluations_since_best = 0;
  }

  bool operator==(const RunState&) const = default;
};

nlohmann::ordered_json to_json(const RunState& state);
RunState run_state_from(const nlohmann::ordered_json& json, const std::string& where);  // DataError

}  // namespace weft
