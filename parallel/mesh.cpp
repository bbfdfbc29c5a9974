#include "parallel/mesh.h"

#include <string>

namespace weft {

Mesh::Mesh(std::unique_ptr<Communicator> world, std::unique_ptr<Communicator> dp, std::unique_ptr<Communicator> tp)
    : world_(std::move(world)), dp_(std::move(dp)), tp_(std::move(tp)) {
  require<InternalError>(dp_->size() * tp_->size() == world_->size(), "mesh {} x {} does not make a world of {}",
                         dp_->size(), tp_->size(), world_->size());
}

void Mesh::progress() {
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
