// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace weft {

// The axes along which ranks take part in collectives: all of them, and those of the grid (MeshLayout::axes).
enum class MeshAxis : uint8_t { World, Dp, Tp };
inline constexpr int kMeshAxes = 3;

inline std::string_view name(MeshAxis axis) {
  constexpr std::array<std::string_view, kMeshAxes> kNames = {"world", "dp", "tp"};
  return kNames.at(static_cast<size_t>(axis));
}

}  // namespace weft
