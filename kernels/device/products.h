// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/config/fields.h"

namespace weft {

// How a device chooses among its library's algorithms for a matrix product.
enum class AlgorithmChoice : uint8_t {
  First,     // the library's first suggestion, equal in every process: no state is needed
  Measured,  // the fastest of several, measured once for each shape and then kept (kernels/device/tuning.h)
};
template <>
struct EnumNames<AlgorithmChoice> {
  static constexpr auto kNames = enum_names<AlgorithmChoice>("first", "measured");
};

// How a device computes matrix products. The CPU ignores it.
struct ProductOptions {
  AlgorithmChoice algorithms = AlgorithmChoice::First;
  bool tf32 = false;  // round fp32 inputs to TF32 (10 bits of mantissa); sums stay fp32
};

}  // namespace weft
