// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "parallel/axis.h"

namespace weft {

// A rank's place on an axis. Ranks of one group differ on this axis alone and take part in its collectives together.
struct AxisPlace {
  MeshAxis axis = MeshAxis::World;
  int group = 0;
  int rank = 0;
  int size = 1;  // ranks of the group
};

// The grid of a job's ranks: dp replicas of the model, which see different data, by the axes that divide one replica. A
// job asks for a layout with dp 1, which describes one replica; the number of ranks then gives dp (layout_for).
struct MeshLayout {
  int dp = 1;
  int tp = 1;

  int size(MeshAxis axis) const;
  int ranks() const;
  // True if the sizes of the axes multiply to `ranks`. For sizes read from a file, which may have any value.
  bool is_grid_of(uint64_t ranks) const;
  // The places of a world rank: first on the world axis, then on each of kGridAxes.
  std::vector<AxisPlace> places(int world_rank) const;
  std::string text() const;  // "8 x 2": the sizes in the order of kGridAxes
  bool operator==(const MeshLayout&) const = default;
};

struct GridAxis {
  MeshAxis axis;
  int MeshLayout::*size;
};
// The only list of the grid's axes, from the outer to the inner: ranks that are neighbours on the last axis are
// neighbours on a node.
inline constexpr auto kGridAxes =
    std::to_array<GridAxis>({{MeshAxis::Dp, &MeshLayout::dp}, {MeshAxis::Tp, &MeshLayout::tp}});
static_assert(kGridAxes.size() + 1 == kMeshAxes, "every axis but the world is an axis of the grid");

// The axes that divide one replica: all axes of the grid but dp.
static_assert(kGridAxes.front().axis == MeshAxis::Dp, "dp is the outermost axis");
inline constexpr auto kReplicaAxes = std::span(kGridAxes).subspan<1>();

// Writes {"dp": 8, "tp": 2}, for nlohmann::json.
template <class Json>
void to_json(Json& sizes, const MeshLayout& layout) {
  sizes = Json::object();
  for (const GridAxis& grid : kGridAxes) sizes[std::string(name(grid.axis))] = layout.*grid.size;
}

std::string grid_text();  // "dp x tp": what MeshLayout::text() lists
// Reads "8x2", the sizes in the order of kGridAxes. nullopt unless there is one size per axis, each at least 1.
std::optional<MeshLayout> parse_layout(std::string_view text);
// All layouts of `ranks` ranks; those that divide a replica least come first.
std::vector<MeshLayout> layouts_of(int ranks);
// As many copies of `replica` as the world holds. ConfigError with the layouts that fit unless it divides the world.
MeshLayout layout_for(int world_size, const MeshLayout& replica);

}  // namespace weft
