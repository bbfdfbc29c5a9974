// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/config/fields.h"

namespace weft {

// How the numbers of a packed weight are kept. Products widen them as they read and sum in f32, whatever the dtype of
// their rows is.
enum class WeightFormat : uint8_t {
  Own,   // as the weight itself: f32, bf16 or f64
  F32,   //
  Bf16,  // rounded to nearest even
  Int8,  // round(w / s) from -127 to 127 with s = max |w| / 127 of each output: an error of s / 2 at most
};

template <>
struct EnumNames<WeightFormat> {
  static constexpr auto kNames = enum_names<WeightFormat>("own", "f32", "bf16", "int8");
};

}  // namespace weft
