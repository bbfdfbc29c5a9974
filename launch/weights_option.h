#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "kernels/weight_format.h"

namespace weft {

// --weights: how the numbers are kept that decoding multiplies with (model/packed_weights.h).
inline void add_weights_option(CLI::App& command, WeightFormat& format) {
  std::map<std::string, WeightFormat> formats;
  for (const auto& [name, value] : EnumNames<WeightFormat>::kNames) formats.emplace(name, value);
  command
      .add_option(
          "--weights", format,
          "Weights of the products: own (as the model was trained), f32, bf16 or int8 (a scale for each output)")
      ->transform(CLI::CheckedTransformer(formats))
      ->type_name("FORMAT");
}

}  // namespace weft
