// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/enum_table.h"

namespace weft {

// The axes along which ranks take part in collectives: World, of all ranks, and the axes of the grid (kGridAxes).
enum class MeshAxis : uint8_t { World, Dp, Tp };
inline constexpr int kMeshAxes = enum_size<MeshAxis>();

inline std::string_view name(MeshAxis axis) {
  constexpr EnumTable<MeshAxis, std::string_view> kNames = {
      {MeshAxis::World, "world"}, {MeshAxis::Dp, "dp"}, {MeshAxis::Tp, "tp"}};
  return kNames[axis];
}

class AxisSet {
 public:
  constexpr AxisSet(std::initializer_list<MeshAxis> axes = {}) {
    for (const MeshAxis axis : axes) bits_ |= bit(axis);
  }
  constexpr bool contains(MeshAxis axis) const { return (bits_ & bit(axis)) != 0; }

 private:
  static constexpr uint32_t bit(MeshAxis axis) { return uint32_t{1} << static_cast<uint32_t>(axis); }
  uint32_t bits_ = 0;
};

}  // namespace weft
