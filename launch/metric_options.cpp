// SPDX-License-Identifier: Apache-2.0
#include "launch/metric_options.h"

#include <fmt/core.h>

#include "launch/command_line/help.h"

namespace weft {

void MetricArguments::add_to(Command& command) {
  for (const MetricEntry* entry : metrics_by_option()) {
    command
        .add_list_option(
            fmt::format("--{}", entry->option),
            [this, option = std::string(entry->option)](const std::vector<std::string>& given) {
              std::vector<std::string>& settings = settings_[option];
              settings.insert(settings.end(), given.begin(), given.end());
            },
            fmt::format("A field of {}, of those below: --{} {}={}", entry->make("", {})->name(), entry->option,
                        entry->fields().front().key, entry->fields().front().value))
        .type_name("KEY=VALUE");
  }
}

std::string metrics_help() {
  std::string text = "Metrics:\n";
  for (const MetricEntry& entry : metric_table()) {
    text += fmt::format("  {:7} {}; {} is better\n", entry.name, entry.meaning,
                        entry.better == Better::Lower ? "lower" : "higher");
  }
  for (const MetricEntry* entry : metrics_by_option()) {
    text += fmt::format("\nFields of --{}, with their defaults:\n{}", entry->option, fields_text(entry->fields()));
  }
  return text;
}

}  // namespace weft
