// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "plan/device_model.h"

namespace weft {

// A layout on devices of one kind, and the predicted time of its step on them.
struct Prediction {
  StepPlan plan;
  PredictedStep step;
  bool fits = true;  // the peak memory of a rank fits the device's memory

  double tokens_per_second() const;                    // target tokens of all devices together
  double utilisation(const DeviceSpec& device) const;  // MFU: model FLOPs over those of the stated rate in that time
};

// The predictions by descending tokens per second; layouts that do not fit come last.
std::vector<Prediction> predict(std::vector<StepPlan> plans, const DeviceSpec& device);

// One line per layout, with the parts of its step, and then the assumptions.
std::string describe(std::span<const Prediction> predictions, const DeviceSpec& device);
// The device's stated rates and the shares of them that are assumed, then each prediction with its parts.
nlohmann::ordered_json to_json(std::span<const Prediction> predictions, const DeviceSpec& device);

}  // namespace weft
