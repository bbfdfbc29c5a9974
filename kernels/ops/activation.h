// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/config/fields.h"

namespace weft {

enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh };

template <>
struct EnumNames<Activation> {
  static constexpr auto kNames = enum_names<Activation>("none", "relu", "gelu", "gelu_tanh");
};

}  // namespace weft
