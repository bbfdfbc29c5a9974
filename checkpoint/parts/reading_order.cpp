// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/parts/reading_order.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace weft {
namespace {

// The part that `rank` holds of an axis that is cut into `size` equal parts.
struct Share {
  int64_t rank = 0, size = 1;
  bool meets(const Share& other) const {
    return rank * other.size < (other.rank + 1) * size && other.rank * size < (rank + 1) * other.size;
  }
  // The distance between the middles of two shares, in a unit that depends on the sizes alone.
  int64_t distance(const Share& other) const {
    return std::abs((2 * rank + 1) * other.size - (2 * other.rank + 1) * size);
  }
};

Share share_on(const std::vector<AxisPlace>& places, MeshAxis axis) {
  const auto at = std::ranges::find(places, axis, &AxisPlace::axis);
  require<InternalError>(at != places.end(), "a rank has no place on axis {}", name(axis));
  return {at->rank, at->size};
}

}  // namespace

std::vector<size_t> reading_order(const CheckpointManifest& manifest, const Mesh* mesh) {
  std::vector<size_t> order(manifest.files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const MeshLayout& layout = manifest.layout;
  if (mesh == nullptr || !layout.is_grid_of(manifest.files.size())) return order;
  const auto mine = [&](MeshAxis axis) { return Share{mesh->on(axis).rank(), mesh->on(axis).size()}; };
  std::vector<std::tuple<bool, int64_t, int, size_t>> keys;
  for (const size_t i : order) {
    const std::vector<AxisPlace> places = layout.places(static_cast<int>(i));
    bool of_use = true;
    int strange = 0;  // axes on which the file's share does not meet this rank's share
    for (const GridAxis& grid : kReplicaAxes) {
      const Share its = share_on(places, grid.axis);
      const bool shares = mine(grid.axis).meets(its), replicates = its.rank == 0;
      of_use = of_use && (shares || replicates);
      strange += shares ? 0 : 1;
    }
    keys.emplace_back(!of_use, mine(MeshAxis::Dp).distance(share_on(places, MeshAxis::Dp)), strange, i);
  }
  std::ranges::sort(keys);
  std::ranges::transform(keys, order.begin(), [](const auto& key) { return std::get<3>(key); });
  return order;
}

}  // namespace weft
