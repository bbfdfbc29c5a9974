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

// Settings of metrics as "key=value", by the option that takes them: {"bleu", {"tokenizer=zh"}}.
using MetricSettings = std::map<std::string, std::vector<std::string>, std::less<>>;

enum class Better : uint8_t { Higher, Lower };

struct MetricEntry {
  std::string_view name;  // used in `weft score --metrics NAME`, in evaluation.metric and in JSON
  // --OPTION KEY=VALUE sets the fields of this metric and of every other metric of this option.
  std::string_view option;
  Better better;
  std::string_view meaning;  // a clause, for help texts
  // `where`: the place where the settings were given, for messages, such as "--bleu".
  std::shared_ptr<const Metric> (*make)(const std::string& where, const std::vector<std::string>& settings);
  std::vector<ConfigDoc> (*fields)();
};

// Every metric of texts, in the order in which figures are printed: commands, jobs and help texts walk this table.
std::span<const MetricEntry> metric_table();
// Throws ConfigError, which lists the known names, if there is no such metric.
const MetricEntry& find_metric(std::string_view name);
// Makes the entry's metric with the settings of its option. Throws ConfigError, with "--OPTION KEY=VALUE", if a setting
// does not fit.
std::shared_ptr<const Metric> make_metric(const MetricEntry& entry, const MetricSettings& settings);
// For each option, the first metric that takes it.
std::vector<const MetricEntry*> metrics_by_option();
// "--bleu, --chrf, --ter"
std::string metric_options();

}  // namespace weft
