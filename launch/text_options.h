// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "generate/text_generator.h"
#include "launch/search_options.h"
#include "parallel/session.h"

namespace weft {

// What translate, generate and rescore share: which model writes, how it searches, how its texts are printed.
struct TextArguments {
  std::string checkpoint;
  bool best = false;
  bool json = false;
  ComputeOptions compute;
  DeviceChoice device = DeviceChoice::Auto;
  SearchArguments search;

  void add_to(CLI::App& command);
  void add_model_to(CLI::App& command);  // all but how it searches
  // ConfigError if the checkpoint holds a model of another task.
  LoadedModel load(Context& context, Mesh& mesh, Task task) const;
};

// What translate and rescore share: lines that come at any pace, and ranks that share them.
struct LineArguments {
  int64_t batch_lines = 1000;
  MeshLayout replica;

  void add_to(CLI::App& command);
  // Runs `body` with the translation model on every rank; no time limit holds for the wait for lines.
  ExitCode run(const TextArguments& text,
               const std::function<void(Session& session, const LoadedModel& loaded)>& body) const;
};

}  // namespace weft
