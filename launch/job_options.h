// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "job/job.h"

namespace weft {

// --set KEY=VALUE, any number of times.
void add_set_option(CLI::App& command, std::vector<std::string>& overrides);

// JOB.yaml and --set, for commands that read a job file.
struct JobArguments {
  std::string path;
  std::vector<std::string> overrides;

  void add_to(CLI::App& command);
};

// JOB.yaml or --model NAME, and --set, for commands that need no data.
struct NamedJobArguments {
  std::string path;
  std::string model;
  std::vector<std::string> overrides;

  void add_to(CLI::App& command);
  JobConfig load() const;
};

}  // namespace weft
