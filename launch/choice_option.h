// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "base/config/fields.h"
#include "kernels/device/devices.h"
#include "kernels/ops/weight_format.h"

namespace weft {

// An option whose value is one of the names of E; `value` is an E or an optional one.
template <class E, class Value>
void add_choice_of(CLI::App& command, const char* option, Value& value, const char* meaning, const char* type_name) {
  std::map<std::string, E> choices;
  for (const auto& [name, choice] : EnumNames<E>::kNames) choices.emplace(name, choice);
  command.add_option(option, value, meaning)->transform(CLI::CheckedTransformer(choices))->type_name(type_name);
}
template <class E>
void add_choice_option(CLI::App& command, const char* option, E& value, const char* meaning, const char* type_name) {
  add_choice_of<E>(command, option, value, meaning, type_name);
}

// --device: where a command computes that reads no job, or reads one and is told otherwise.
inline void add_device_option(CLI::App& command, DeviceChoice& device) {
  add_choice_option(command, "--device", device, "auto (a CUDA device if there is one), cpu or cuda", "DEVICE");
}

// --weights: how the numbers are kept that decoding multiplies with (model/packed_weights.h).
inline void add_weights_option(CLI::App& command, WeightFormat& format) {
  add_choice_option(
      command, "--weights", format,
      "Weights of the products: own (as the model was trained), f32, bf16 or int8 (a scale for each output)", "FORMAT");
}

}  // namespace weft
