// SPDX-License-Identifier: Apache-2.0
#include "job/validation_metric.h"

namespace weft {

ValidationMetric validation_metric(const MetricEntry& entry) {
  return static_cast<ValidationMetric>(&entry - metric_table().data() + 1);
}

const MetricEntry* translation_metric(ValidationMetric metric) {
  return metric == ValidationMetric::Loss ? nullptr : &metric_table()[static_cast<size_t>(metric) - 1];
}

std::vector<std::pair<std::string_view, ValidationMetric>> validation_metrics() {
  std::vector<std::pair<std::string_view, ValidationMetric>> names = {{"loss", ValidationMetric::Loss}};
  for (const MetricEntry& entry : metric_table()) names.emplace_back(entry.name, validation_metric(entry));
  return names;
}

}  // namespace weft
