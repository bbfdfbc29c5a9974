// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "job/job.h"
#include "launch/command_line/command.h"

namespace weft {

// --set KEY=VALUE, any number of times.
void add_set_option(Command& command, std::vector<std::string>& overrides);

// JOB.yaml and --set, for commands that read a job file.
struct JobArguments {
  std::string path;
  std::vector<std::string> overrides;

  void add_to(Command& command);
};

// JOB.yaml or --model NAME, and --set, for commands that need no data.
struct NamedJobArguments {
  std::string path;
  std::string model;
  std::vector<std::string> overrides;

  void add_to(Command& command);
  JobConfig load() const;
};

}  // namespace weft
