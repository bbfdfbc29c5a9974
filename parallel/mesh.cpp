// SPDX-License-Identifier: Apache-2.0
#include "parallel/mesh.h"

#include <algorithm>

namespace weft {

Mesh::Mesh(const MeshLayout& layout, int world_rank, const MakeCommunicator& make, std::shared_ptr<Heartbeat> heartbeat)
    : layout_(layout), heartbeat_(heartbeat ? std::move(heartbeat) : std::make_shared<Heartbeat>()) {
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

bool Mesh::first_of_replica() const {
  return std::ranges::all_of(kReplicaAxes, [this](const GridAxis& grid) { return on(grid.axis).rank() == 0; });
}

void Mesh::log_into(CollectiveLog* log) const {
  for (const auto& axis : axes_) axis->log_into(log);
}

void Mesh::trace_into(Trace& trace) const {
  for (const auto& axis : axes_) axis->trace_into(trace);
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

}  // namespace weft
