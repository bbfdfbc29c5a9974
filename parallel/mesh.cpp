// SPDX-License-Identifier: Apache-2.0
#include "parallel/mesh.h"

#include <algorithm>
#include <string>

namespace weft {

int MeshLayout::ranks() const {
  int n = 1;
  for (const Axis& axis : axes()) n *= axis.size;
  return n;
}

std::vector<AxisPlace> MeshLayout::places(int world_rank) const {
  std::vector<AxisPlace> places = {{.axis = MeshAxis::World, .rank = world_rank, .size = ranks()}};
  int outer = ranks();  // ranks over which the axes from here on go
  for (const auto& [axis, size] : axes()) {
    const int inner = outer / size;
    places.push_back({.axis = axis,
                      .group = world_rank / outer * inner + world_rank % inner,
                      .rank = world_rank / inner % size,
                      .size = size});
    outer = inner;
  }
  return places;
}

Mesh::Mesh(const MeshLayout& layout, int world_rank, const MakeCommunicator& make, std::shared_ptr<Heartbeat> heartbeat)
    : heartbeat_(heartbeat ? std::move(heartbeat) : std::make_shared<Heartbeat>()) {
  for (const AxisPlace& place : layout.places(world_rank)) {
    axes_.push_back(make(place));
    const Communicator& made = *axes_.back();
    require<InternalError>(made.axis() == place.axis && made.rank() == place.rank && made.size() == place.size,
                           "axis {}: rank {} of {} where {} of {} was asked for", name(made.axis()), made.rank(),
                           made.size(), place.rank, place.size);
    heartbeat_->place(place.axis, place.group, place.size);
    axes_.back()->beat_on(*heartbeat_);
  }
}

Mesh Mesh::single(std::shared_ptr<Heartbeat> heartbeat) {
  return {{}, 0, [](const AxisPlace& place) { return single_communicator(place.axis); }, std::move(heartbeat)};
}

Communicator& Mesh::on(MeshAxis axis) const {
  const auto at = std::ranges::find(axes_, axis, [](const auto& c) { return c->axis(); });
  require<InternalError>(at != axes_.end(), "the mesh has no axis {}", name(axis));
  return **at;
}

void Mesh::log_into(CollectiveLog* log) const {
  for (const auto& axis : axes_) axis->log_into(log);
}

double Mesh::waited_seconds() const {
  double sum = 0;
  for (const auto& axis : axes_) sum += axis->traffic().total().wait_seconds;
  return sum;
}

void Mesh::settle() {
  if (device_plane_) device_plane_->settle();
}

void Mesh::progress() {
  heartbeat_->beat();
  for (const auto& axis : axes_) {
    if (axis->size() > 1) axis->progress();
  }
}

MeshLayout layout_for(int world_size, int tp) {
  if (tp < 1 || world_size % tp != 0) {
    std::string fits;
    for (int t = 1; t <= world_size; ++t) {
      if (world_size % t == 0) fits += fmt::format("{}{} x {}", fits.empty() ? "" : ", ", world_size / t, t);
    }
    throw ConfigError(fmt::format("parallel.tp = {} does not divide the {} ranks that were started", tp, world_size),
                      "layouts (dp x tp) that fit: " + fits);
  }
  return {.dp = world_size / tp, .tp = tp};
}

}  // namespace weft
