// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/run_state.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/manifest.h"

namespace weft {

using Json = nlohmann::ordered_json;

Json to_json(const RunState& s) {
  Json json = {{"run", s.run},
               {"step", s.step},
               {"updates", s.updates},
               {"epoch", s.position.epoch},
               {"step_in_epoch", s.position.step},
               {"target_tokens", s.target_tokens},
               {"skips", s.skips},
               {"skips_in_row", s.skips_in_row},
               {"best_loss", std::isfinite(s.best_loss) ? Json(s.best_loss) : Json(nullptr)},
               {"best_score", s.best_score ? Json(*s.best_score) : Json(nullptr)},
               {"evaluation", s.evaluation},
               {"best_step", s.best_step},
               {"without_gain", s.evaluations_since_best},
               {"epoch_end", s.epoch_end},
               {"evaluation_left", s.evaluation_left},
               {"rollbacks", s.rollbacks},
               {"next_learning_rate", s.next_learning_rate ? Json(*s.next_learning_rate) : Json(nullptr)}};
  // The state of a run without the window stays as it was before there was one.
  if (!s.recent_losses.empty()) json["recent_losses"] = s.recent_losses, json["recent_norms"] = s.recent_norms;
  if (!s.exponents.empty()) json["exponents"] = s.exponents;
  return json;
}

RunState run_state_of(const CheckpointManifest& manifest, const fs::path& checkpoint) {
  return run_state_from(manifest.state, checkpoint.string());
}

RunState run_state_from(const Json& json, const std::string& where) {
  try {
    RunState s;
    s.run = json.at("run").get<std::string>();
    s.step = integer_from<int64_t>(json.at("step"));
    s.updates = integer_from<int64_t>(json.at("updates"));
    s.position = {integer_from<int64_t>(json.at("epoch")), integer_from<int64_t>(json.at("step_in_epoch"))};
    s.target_tokens = integer_from<int64_t>(json.at("target_tokens"));
    s.skips = integer_from<int64_t>(json.at("skips"));
    s.skips_in_row = integer_from<int64_t>(json.at("skips_in_row"));
    if (!json.at("best_loss").is_null()) s.best_loss = json.at("best_loss").get<double>();
    s.best_step = integer_from<int64_t>(json.at("best_step"));
    s.evaluations_since_best = integer_from<int64_t>(json.at("without_gain"));
    s.epoch_end = json.at("epoch_end").get<bool>();
    // Checkpoints of the first builds lack the following fields.
    s.evaluation_left = json.value("evaluation_left", false);
    s.rollbacks = integer_or<int64_t>(json, "rollbacks", 0);
    const Json score = json.value("best_score", json.value("best_bleu", Json()));  // its name in earlier builds
    if (!score.is_null()) s.best_score = score.get<double>();
    s.evaluation = json.value("evaluation", s.evaluation);
    const Json rate = json.value("next_learning_rate", Json());
    if (!rate.is_null()) s.next_learning_rate = rate.get<double>();
    s.recent_losses = json.value("recent_losses", std::vector<double>());
    s.recent_norms = json.value("recent_norms", std::vector<double>());
    require<DataError>(s.recent_losses.size() == s.recent_norms.size(), "it has {} recent losses and {} norms",
                       s.recent_losses.size(), s.recent_norms.size());
    for (const Json& exponent : json.value("exponents", Json::array())) {
      s.exponents.push_back(integer_from<int32_t>(exponent));
    }
    const bool sane =
        s.step >= 0 && s.updates >= 0 && s.updates <= s.step && s.position.epoch >= 0 && s.position.step >= 0;
    require<DataError>(sane, "its counters contradict each other");
    return s;
  } catch (const std::exception& error) {
    throw DataError(fmt::format("{}: the run's state cannot be read: {}", where, error.what()));
  }
}

}  // namespace weft
