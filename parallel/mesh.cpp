#include "parallel/mesh.h"

#include <string>

namespace weft {

Mesh::Mesh(std::unique_ptr<Communicator> world, std::unique_ptr<Communicator> dp, std::unique_ptr<Communicator> tp,
           std::shared_ptr<Heartbeat> heartbeat)
    : heartbeat_(heartbeat ? std::move(heartbeat) : std::make_shared<Heartbeat>()),
      world_(std::move(world)),
      dp_(std::move(dp)),
      tp_(std::move(tp)) {
  require<InternalError>(dp_->size() * tp_->size() == world_->size(), "mesh {} x {} does not make a world of {}",
                         dp_->size(), tp_->size(), world_->size());
  heartbeat_->place(MeshAxis::World, 0, world_->size());
  heartbeat_->place(MeshAxis::Dp, tp_->rank(), dp_->size());
  heartbeat_->place(MeshAxis::Tp, dp_->rank(), tp_->size());
  world_->beat_on(*heartbeat_, MeshAxis::World);
  dp_->beat_on(*heartbeat_, MeshAxis::Dp);
  tp_->beat_on(*heartbeat_, MeshAxis::Tp);
}

double Mesh::waited_seconds() const {
  return world_->traffic().total().wait_seconds + dp_->traffic().total().wait_seconds +
         tp_->traffic().total().wait_seconds;
}

void Mesh::progress() {
  heartbeat_->beat();
  world_->progress();
  if (dp_->size() > 1) dp_->progress();
  if (tp_->size() > 1) tp_->progress();
}

Mesh Mesh::single() { return {single_communicator("world"), single_communicator("dp"), single_communicator("tp")}; }

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
