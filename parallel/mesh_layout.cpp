// SPDX-License-Identifier: Apache-2.0
#include "parallel/mesh_layout.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace weft {

int MeshLayout::size(MeshAxis axis) const {
  if (axis == MeshAxis::World) return ranks();
  return this->*std::ranges::find(kGridAxes, axis, &GridAxis::axis)->size;
}

int MeshLayout::ranks() const {
  int n = 1;
  for (const GridAxis& grid : kGridAxes) n *= this->*grid.size;
  return n;
}

bool MeshLayout::is_grid_of(uint64_t ranks) const {
  uint64_t product = 1;
  for (const GridAxis& grid : kGridAxes) {
    if (this->*grid.size < 1 || product > ranks) return false;
    product *= static_cast<uint64_t>(this->*grid.size);
  }
  return product == ranks;
}

std::vector<AxisPlace> MeshLayout::places(int world_rank) const {
  std::vector<AxisPlace> places = {{.axis = MeshAxis::World, .rank = world_rank, .size = ranks()}};
  int outer = ranks();  // ranks in a block of this axis and the axes inside it
  for (const GridAxis& grid : kGridAxes) {
    const int size = this->*grid.size, inner = outer / size;
    places.push_back({.axis = grid.axis,
                      .group = world_rank / outer * inner + world_rank % inner,
                      .rank = world_rank / inner % size,
                      .size = size});
    outer = inner;
  }
  return places;
}

std::string MeshLayout::text() const {
  std::vector<int> sizes;
  for (const GridAxis& grid : kGridAxes) sizes.push_back(this->*grid.size);
  return fmt::format("{}", fmt::join(sizes, " x "));
}

std::string grid_text() {
  std::vector<std::string_view> names;
  for (const GridAxis& grid : kGridAxes) names.push_back(name(grid.axis));
  return fmt::format("{}", fmt::join(names, " x "));
}

std::optional<MeshLayout> parse_layout(std::string_view text) {
  MeshLayout layout;
  const char *at = text.data(), *end = at + text.size();
  for (const GridAxis& grid : kGridAxes) {
    if (&grid != kGridAxes.data() && (at == end || *at++ != 'x')) return std::nullopt;
    const auto [rest, error] = std::from_chars(at, end, layout.*grid.size);
    if (error != std::errc() || layout.*grid.size < 1) return std::nullopt;
    at = rest;
  }
  return at == end ? std::optional(layout) : std::nullopt;
}

std::vector<MeshLayout> layouts_of(int ranks) {
  std::vector<MeshLayout> layouts = {{.dp = ranks}};
  for (const GridAxis& grid : kReplicaAxes) {
    std::vector<MeshLayout> divided;
    for (const MeshLayout& layout : layouts) {
      for (int size = 1; size <= layout.dp; ++size) {
        if (layout.dp % size != 0) continue;
        MeshLayout& next = divided.emplace_back(layout);
        next.dp /= size, next.*grid.size = size;
      }
    }
    layouts = std::move(divided);
  }
  return layouts;
}

MeshLayout layout_for(int world_size, const MeshLayout& replica) {
  MeshLayout layout = replica;
  layout.dp = world_size / std::max(1, replica.ranks());
  if (replica.dp == 1 && layout.is_grid_of(static_cast<uint64_t>(world_size))) return layout;
  std::vector<std::string> stated, fitting;
  for (const GridAxis& grid : kReplicaAxes) {
    stated.push_back(fmt::format("parallel.{} = {}", name(grid.axis), replica.*grid.size));
  }
  for (const MeshLayout& fits : layouts_of(world_size)) fitting.push_back(fits.text());
  throw ConfigError(
      fmt::format("{} does not divide the {} ranks that were started", fmt::join(stated, " x "), world_size),
      fmt::format("layouts ({}) that fit: {}", grid_text(), fmt::join(fitting, ", ")));
}

}  // namespace weft
