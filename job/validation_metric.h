// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "metrics/metric_table.h"

namespace weft {

// The figure that decides which of two evaluations is better: the loss, or for value i + 1 metric i of metric_table().
enum class ValidationMetric : uint8_t { Loss };

ValidationMetric validation_metric(const MetricEntry& entry);
// The metric of translations that a value denotes; null for the loss.
const MetricEntry* translation_metric(ValidationMetric metric);

// Every value with its name.
std::vector<std::pair<std::string_view, ValidationMetric>> validation_metrics();
template <>
struct EnumNames<ValidationMetric> {
  static inline const auto kNames = validation_metrics();
};

}  // namespace weft
