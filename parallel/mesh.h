// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/mesh_layout.h"
#include "parallel/watch/heartbeat.h"

namespace weft {

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

  const MeshLayout& layout() const { return layout_; }
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
  MeshLayout layout_;
  std::shared_ptr<Heartbeat> heartbeat_;
  std::shared_ptr<DevicePlane> device_plane_;
  std::vector<std::unique_ptr<Communicator>> axes_;
};

}  // namespace weft
