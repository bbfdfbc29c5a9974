// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config/fields.h"
#include "metrics/metric_table.h"

namespace weft {

// What decides which of two evaluations is the better one: the loss, or as value i + 1 metric i of metric_table().
enum class ValidationMetric : uint8_t { Loss };

ValidationMetric validation_metric(const MetricEntry& entry);
// The metric of translations that a value stands for; null for the loss.
const MetricEntry* translation_metric(ValidationMetric metric);

// Every value by its name.
std::vector<std::pair<std::string_view, ValidationMetric>> validation_metrics();
template <>
struct EnumNames<ValidationMetric> {
  static inline const auto kNames = validation_metrics();
};

}  // namespace weft
