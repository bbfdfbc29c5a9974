#pragma once
#include <memory>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/heartbeat.h"

namespace weft {

// The ranks of a job as a grid with named axes: dp (replicas of the model, different data) by tp (shards of one
// model). tp is the inner axis, so that its ranks are neighbours on a node: world rank = dp rank * tp size + tp rank.
class Mesh {
 public:
  // Collectives and phases beat on `heartbeat`; where none is given the mesh makes one, which a watchdog may watch.
  Mesh(std::unique_ptr<Communicator> world, std::unique_ptr<Communicator> dp, std::unique_ptr<Communicator> tp,
       std::shared_ptr<Heartbeat> heartbeat = nullptr);
  Communicator& world() const { return *world_; }
  Communicator& dp() const { return *dp_; }
  Communicator& tp() const { return *tp_; }
  Heartbeat& heartbeat() const { return *heartbeat_; }
  void progress();
  double waited_seconds() const;  // that collectives of all axes have kept this rank so far

  static Mesh single();

 private:
  std::shared_ptr<Heartbeat> heartbeat_;
  std::unique_ptr<Communicator> world_, dp_, tp_;
};

// The grid position of a world rank; ConfigError with the layouts that fit where dp * tp is not the world's size.
struct MeshLayout {
  int dp = 1;
  int tp = 1;
};
MeshLayout layout_for(int world_size, int tp);

}  // namespace weft
