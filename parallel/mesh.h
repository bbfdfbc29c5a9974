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

// The communicators of one rank over devices. They fail together and are aborted together.
class DevicePlane {
 public:
  virtual ~DevicePlane() = default;
  // Blocks the host until its device has done everything that was queued. If a communicator fails, so that this would
  // never happen, aborts all communicators and throws DeviceError or PeerError naming rank, device, collective and the
  // library's message. For the main thread.
  virtual void settle() = 0;
  // Makes every wait in a collective return, with undefined results; from then on settle() throws, and so does the
  // start of a collective. For any thread. May hang if the library does.
  virtual void abort() noexcept = 0;
  // `explain` is called when a failure was found, before anything is aborted; its text is appended to the error text.
  virtual void on_failure(std::function<std::string()> explain) = 0;
};

// This rank's communicators, one per axis.
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
  // True on one rank of each replica, which counts for all ranks of the replica, since they see the same data.
  bool first_of_replica() const;
  Heartbeat& heartbeat() const { return *heartbeat_; }
  void progress();
  void log_into(CollectiveLog* log) const;  // Communicator::log_into() on every axis
  void trace_into(Trace& trace) const;      // Communicator::trace_into() on every axis
  // Null unless the ranks compute on devices of their own.
  void set_device_plane(std::shared_ptr<DevicePlane> plane) { device_plane_ = std::move(plane); }
  const std::shared_ptr<DevicePlane>& device_plane() const { return device_plane_; }
  // Calls DevicePlane::settle() if there is a device plane, before the host reads results of collectives.
  void settle();
  double waited_seconds() const;  // seconds that this rank has waited so far, in collectives of all axes

 private:
  MeshLayout layout_;
  std::shared_ptr<Heartbeat> heartbeat_;
  std::shared_ptr<DevicePlane> device_plane_;
  std::vector<std::unique_ptr<Communicator>> axes_;
};

}  // namespace weft
