// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "plan/device_model.h"

namespace weft {

// A layout on devices of one kind, and what its step is predicted to take there.
struct Prediction {
  StepPlan plan;
  PredictedStep step;
  bool fits = true;  // all that a rank holds at once, in the device's memory

  double tokens_per_second() const;                    // target tokens, all devices together
  double utilisation(const DeviceSpec& device) const;  // MFU: model FLOPs over what the stated rate would do meanwhile
};

// In the order of tokens per second, what does not fit last.
std::vector<Prediction> predict(std::vector<StepPlan> plans, const DeviceSpec& device);

// A line a layout, with the parts of its step, and what was assumed.
std::string describe(std::span<const Prediction> predictions, const DeviceSpec& device);
// Each with its parts; before them the device's stated rates and the shares of them that are assumed.
nlohmann::ordered_json to_json(std::span<const Prediction> predictions, const DeviceSpec& device);

}  // namespace weft
