// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/reader.h"
#include "metrics/metric.h"

namespace weft {

// Settings of metrics, "key=value" each, by the option that takes them: {"bleu", {"tokenizer=zh"}}.
using MetricSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

enum class Better : uint8_t { Higher, Lower };

struct MetricEntry {
  std::string_view name;  // `weft score --metrics NAME`, evaluation.metric, the member of JSON
  // --OPTION KEY=VALUE sets its fields, and those of every other metric of this option.
  std::string_view option;
  Better better;
  std::string_view meaning;  // for help: a clause
  // `where` the settings were given, for messages: "--bleu".
  std::shared_ptr<const Metric> (*make)(const std::string& where, const std::vector<std::string>& settings);
  std::vector<ConfigDoc> (*fields)();
};

// Every metric of texts, in the order in which figures are printed: commands, jobs and help walk this table.
std::span<const MetricEntry> metric_table();
// ConfigError that lists the names there are.
const MetricEntry& find_metric(std::string_view name);
// The entry's metric with the settings of its option. ConfigError, with "--OPTION KEY=VALUE", for one that does not
// fit.
std::shared_ptr<const Metric> make_metric(const MetricEntry& entry, const MetricSettings& settings);
// Each option once, as the first metric that takes it.
std::vector<const MetricEntry*> metrics_by_option();
// "--bleu, --chrf, --ter"
std::string metric_options();

}  // namespace weft
