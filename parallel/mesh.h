// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/watch/heartbeat.h"

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

// What a rank's communicators over devices have in common: they fail, and let go, together.
class DevicePlane {
 public:
  virtual ~DevicePlane() = default;
  // The host waits until all that was queued on its device is done. Where a communicator fails meanwhile, so that it
  // never will be: aborts them all and throws, DeviceError or PeerError, naming rank, device, collective and what the
  // library says. For the main thread.
  virtual void settle() = 0;
  // Whatever waits in a collective returns, with results that are good for nothing; settle() throws from then on, and
  // so does the start of a collective. For any thread. May hang where the library does.
  virtual void abort() noexcept = 0;
  // Called when a failure was found, before anything is aborted; what it returns is added to the error's words.
  virtual void on_failure(std::function<std::string()> explain) = 0;
};

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
  // Of ranks that compute on devices of their own; null: none.
  void set_device_plane(std::shared_ptr<DevicePlane> plane) { device_plane_ = std::move(plane); }
  const std::shared_ptr<DevicePlane>& device_plane() const { return device_plane_; }
  // Before the host reads from its device what the ranks have made together: DevicePlane::settle(), where there is one.
  void settle();
  double waited_seconds() const;  // that collectives of all axes have kept this rank so far

 private:
  std::shared_ptr<Heartbeat> heartbeat_;
  std::shared_ptr<DevicePlane> device_plane_;
  std::vector<std::unique_ptr<Communicator>> axes_;
};

}  // namespace weft
