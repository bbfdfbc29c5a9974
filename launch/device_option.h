#pragma once
#include <CLI/CLI.hpp>

#include "kernels/devices.h"

namespace weft {

// --device: where a command computes that reads no job, or reads one and is told otherwise.
inline void add_device_option(CLI::App& command, DeviceChoice& device) {
  std::map<std::string, DeviceChoice> choices;
  for (const auto& [name, value] : EnumNames<DeviceChoice>::kNames) choices.emplace(name, value);
  command.add_option("--device", device, "auto (a CUDA device if there is one), cpu or cuda")
      ->transform(CLI::CheckedTransformer(choices))
      ->type_name("DEVICE");
}

}  // namespace weft
