// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/config/fields.h"

namespace weft {

// The number format of a packed weight. Products widen the numbers as they read them, and sum in f32 (f64: in f64).
enum class WeightFormat : uint8_t {
  Own,   // the weight's own dtype: f32, bf16 or f64
  F32,   //
  Bf16,  // rounded to nearest even
  Int8,  // round(w / s) in -127..127 with s = max |w| / 127 per output: the error is at most s / 2
};

template <>
struct EnumNames<WeightFormat> {
  static constexpr auto kNames = enum_names<WeightFormat>("own", "f32", "bf16", "int8");
};

}  // namespace weft
