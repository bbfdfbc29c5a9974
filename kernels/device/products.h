// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/config/fields.h"

namespace weft {

// Which of the algorithms that a device's library has for a matrix product is taken.
enum class AlgorithmChoice : uint8_t {
  First,     // the one that the library names first: the same in every process, with nothing to remember
  Measured,  // the fastest of several, measured once for each shape and then kept (kernels/device/tuning.h)
};
template <>
struct EnumNames<AlgorithmChoice> {
  static constexpr auto kNames = enum_names<AlgorithmChoice>("first", "measured");
};

// How a device computes matrix products, where it has a choice. The CPU has none.
struct ProductOptions {
  AlgorithmChoice algorithms = AlgorithmChoice::First;
  bool tf32 = false;  // fp32 inputs are rounded to TF32, 10 bits of mantissa; sums are fp32 all the same
};

}  // namespace weft
