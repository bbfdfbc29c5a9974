// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/device/queue.h"
#include "parallel/mesh.h"
#include "parallel/nccl/library.h"

namespace weft {

// The NCCL communicators of a rank. NCCL lets one thread at a time work with a communicator, or with those of one
// device: so every NCCL call is made within call(), by the main thread, except in abort(), another thread's last
// resort.
class NcclPlane : public DevicePlane, public std::enable_shared_from_this<NcclPlane> {
 public:
  // `rank` is the rank's name in errors: "rank 1 (node7, cuda:1)". Only settle() uses `queue`.
  NcclPlane(std::shared_ptr<const NcclLibrary> library, std::string rank, std::unique_ptr<DeviceQueue> queue,
            std::shared_ptr<Heartbeat> heartbeat);

  const NcclLibrary& library() const { return *library_; }
  // Takes ownership of `comm`. remove() destroys it, after its collectives have ended unless an exception unwinds.
  void add(MeshAxis axis, ncclComm_t comm);
  void remove(ncclComm_t comm) noexcept;
  // Calls NCCL, and returns once what it was called for is in a stream: until then `comm`, if it does not block, says
  // that the call is in progress. Throws PeerError once abort() was called.
  template <class Body>
  void call(const char* name, const ncclComm_t& comm, Body&& body) {
    ncclResult_t result = locked(body);
    while (result == ncclInProgress) {
      std::this_thread::yield();
      result = locked([&] { return state_of(comm); });
    }
    library_->check(result, name);
  }

  void settle() override;
  void abort() noexcept override;
  void on_failure(std::function<std::string()> explain) override { explain_ = std::move(explain); }

 private:
  struct Member {
    MeshAxis axis;
    ncclComm_t comm;
  };
  void check();
  void require_whole() const;
  ncclResult_t state_of(ncclComm_t comm) const;
  template <class Body>
  ncclResult_t locked(Body&& body) {
    require_whole();
    const std::lock_guard lock(mutex_);
    require_whole();
    return body();
  }
  [[noreturn]] void fail(MeshAxis axis, ncclResult_t error);

  std::shared_ptr<const NcclLibrary> library_;
  std::string rank_;
  std::unique_ptr<DeviceQueue> queue_;
  std::shared_ptr<Heartbeat> heartbeat_;
  std::function<std::string()> explain_;
  std::timed_mutex mutex_;  // guards NCCL and the members below
  std::vector<Member> members_;
  std::atomic<bool> aborted_{false};  // checked before locking: the thread that aborts may hang in NCCL
};

}  // namespace weft
