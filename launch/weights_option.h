// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/ops/weight_format.h"
#include "launch/choice_option.h"

namespace weft {

// --weights: how the numbers are kept that decoding multiplies with (model/packed_weights.h).
inline void add_weights_option(CLI::App& command, WeightFormat& format) {
  add_choice_option(
      command, "--weights", format,
      "Weights of the products: own (as the model was trained), f32, bf16 or int8 (a scale for each output)", "FORMAT");
}

}  // namespace weft
