// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "launch/command_line/command.h"
#include "launch/model_options.h"

namespace weft {

// The options of translate and rescore: lines that arrive at any pace, divided among the replicas of the model.
struct LineArguments {
  ModelArguments model;
  int64_t batch_lines = 1000;

  void add_to(Command& command);
  // Runs `body` with the translation model on every rank; there is no time limit for lines to arrive.
  ExitCode run(const std::function<void(Session& session, const LoadedModel& loaded)>& body) const;
};

}  // namespace weft
