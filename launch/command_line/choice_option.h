// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config/fields.h"
#include "kernels/device/devices.h"
#include "kernels/ops/weight_format.h"
#include "launch/command_line/command.h"

namespace weft {

// An option whose value is one of the names of E; `value` is an E or an optional E, which must outlive the command.
// The help lists the names: CLI11's own transformer would list the numbers behind them, or their bytes.
template <class E, class Value>
void add_choice_of(Command& command, const char* option, Value& value, const char* meaning, const char* type_name) {
  std::vector<std::string> names;
  for (const auto& [name, choice] : EnumNames<E>::kNames) names.emplace_back(name);
  const auto choose = [&value](const std::string& chosen) {
    for (const auto& [name, choice] : EnumNames<E>::kNames)
      if (chosen == name) value = choice;
  };
  command.add_word_option(option, choose, meaning).type_name(type_name).one_of(names);
}
template <class E>
void add_choice_option(Command& command, const char* option, E& value, const char* meaning, const char* type_name) {
  add_choice_of<E>(command, option, value, meaning, type_name);
}

// --device: overrides the job's device, for commands that read a job.
inline void add_device_option(Command& command, DeviceChoice& device) {
  add_choice_option(command, "--device", device, "auto (a CUDA device if available), cpu or cuda", "DEVICE");
}

// --weights: the format of the weights that decoding multiplies with (model/packed_weights.h).
inline void add_weights_option(Command& command, WeightFormat& format) {
  add_choice_option(
      command, "--weights", format,
      "Format of the weights in matrix products: own (as trained), f32, bf16 or int8 (one scale per output)", "FORMAT");
}

}  // namespace weft
