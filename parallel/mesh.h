#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/heartbeat.h"

namespace weft {

// A rank's place on an axis. Ranks of one group differ on this axis alone: they meet in its collectives.
struct AxisPlace {
  MeshAxis axis = MeshAxis::World;
  int group = 0;
  int rank = 0;
  int size = 1;  // ranks of the group
};

// The grid of a job's ranks: dp (replicas of the model, different data) by tp (shards of one model).
struct MeshLayout {
  int dp = 1;
  int tp = 1;

  struct Axis {
    MeshAxis axis;
    int size;
  };
  // From the outer to the inner: ranks that are neighbours on the last axis are neighbours on a node.
  std::vector<Axis> axes() const { return {{MeshAxis::Dp, dp}, {MeshAxis::Tp, tp}}; }
  int ranks() const;
  // Of a world rank: on the world, then on each of axes().
  std::vector<AxisPlace> places(int world_rank) const;
};
// ConfigError with the layouts that fit if `tp` does not divide the world's size.
MeshLayout layout_for(int world_size, int tp);

// This rank's communicators, one an axis.
class Mesh {
 public:
  // Calls make(place) for each axis in the order of MeshLayout::places(), on every rank alike.
  using MakeCommunicator = std::function<std::unique_ptr<Communicator>(const AxisPlace&)>;
  // Collectives and phases beat on `heartbeat`; if none is given the mesh makes one, which a watchdog may watch.
  Mesh(const MeshLayout& layout, int world_rank, const MakeCommunicator& make,
       std::shared_ptr<Heartbeat> heartbeat = nullptr);
  static Mesh single(std::shared_ptr<Heartbeat> heartbeat = nullptr);

  Communicator& on(MeshAxis axis) const;
  Communicator& world() const { return on(MeshAxis::World); }
  Communicator& dp() const { return on(MeshAxis::Dp); }
  Communicator& tp() const { return on(MeshAxis::Tp); }
  Heartbeat& heartbeat() const { return *heartbeat_; }
  void progress();
  void log_into(CollectiveLog* log) const;  // Communicator::log_into() on every axis
  double waited_seconds() const;            // that collectives of all axes have kept this rank so far

 private:
  std::shared_ptr<Heartbeat> heartbeat_;
  std::vector<std::unique_ptr<Communicator>> axes_;
};

}  // namespace weft
