// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>

#include "base/config/fields.h"

namespace weft {

enum class Activation : uint8_t { None, Relu, Gelu, GeluTanh };

template <>
struct EnumNames<Activation> {
  static constexpr auto kNames =
      std::to_array<std::pair<std::string_view, Activation>>({{"none", Activation::None},
                                                              {"relu", Activation::Relu},
                                                              {"gelu", Activation::Gelu},
                                                              {"gelu_tanh", Activation::GeluTanh}});
};

}  // namespace weft
