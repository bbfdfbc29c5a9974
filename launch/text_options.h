#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "evaluate/text_generator.h"
#include "launch/search_options.h"

namespace weft {

// What translate and generate share: which model writes, how it searches, how its texts are printed.
struct TextArguments {
  std::string checkpoint;
  bool best = false;
  bool json = false;
  ComputeOptions compute;
  DeviceChoice device = DeviceChoice::Auto;
  SearchArguments search;

  void add_to(CLI::App& command);
  // ConfigError if the checkpoint holds a model of another task.
  LoadedModel load(Context& context, Mesh& mesh, Task task) const;
};

}  // namespace weft
