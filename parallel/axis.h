// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

#include "base/enum_table.h"

namespace weft {

// The axes along which ranks take part in collectives: all of them, and those of the grid (MeshLayout::axes).
enum class MeshAxis : uint8_t { World, Dp, Tp };
inline constexpr int kMeshAxes = enum_size<MeshAxis>();

inline std::string_view name(MeshAxis axis) {
  constexpr EnumTable<MeshAxis, std::string_view> kNames = {
      {MeshAxis::World, "world"}, {MeshAxis::Dp, "dp"}, {MeshAxis::Tp, "tp"}};
  return kNames[axis];
}

}  // namespace weft
