// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "job/job.h"
#include "launch/command_line/command.h"
#include "parallel/session.h"

namespace weft {

// --set KEY=VALUE, any number of times.
void add_set_option(Command& command, std::vector<std::string>& overrides);

// JOB.yaml and --set, for commands that read a job file.
struct JobArguments {
  std::string path;
  std::vector<std::string> overrides;

  void add_to(Command& command);
};

// The ranks that train or time a job, each as the job says it computes.
Session session_of(const JobConfig& job, const std::optional<PhaseBudgets>& budgets);

// JOB.yaml or --model NAME, and --set, for commands that need no data.
struct NamedJobArguments {
  std::string path;
  std::string model;
  std::vector<std::string> overrides;

  void add_to(Command& command);
  JobConfig load() const;
};

}  // namespace weft
