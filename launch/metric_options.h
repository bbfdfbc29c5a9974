// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "launch/command_line/command.h"
#include "metrics/metric_table.h"

namespace weft {

// The options of text metrics that score and evaluate take: --bleu KEY=VALUE, and so on for every option in
// metric_table(). add_to() keeps references to this object.
class MetricArguments {
 public:
  void add_to(Command& command);
  bool given() const { return !settings_.empty(); }
  const MetricSettings& settings() const { return settings_; }

 private:
  MetricSettings settings_;
};

// For the end of a command's help: one line per metric, and "Fields of --bleu, with their defaults".
std::string metrics_help();

}  // namespace weft
