// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/device/queue.h"
#include "parallel/mesh.h"
#include "parallel/nccl/library.h"

namespace weft {

// The NCCL communicators of a rank. NCCL lets one thread at a time work with a communicator, or with those of one
// device: so every call of it is made within call(), by the main thread, but for abort(), which is another's last
// resort.
class NcclPlane : public DevicePlane, public std::enable_shared_from_this<NcclPlane> {
 public:
  // `rank` as errors name it: "rank 1 (node7, cuda:1)". `queue` is for settle() alone.
  NcclPlane(std::shared_ptr<const NcclLibrary> library, std::string rank, std::unique_ptr<DeviceQueue> queue,
            std::shared_ptr<Heartbeat> heartbeat);

  const NcclLibrary& library() const { return *library_; }
  // From now on `comm` is looked after; remove() ends it, waiting for what is under way unless an error unwinds.
  void add(MeshAxis axis, ncclComm_t comm);
  void remove(ncclComm_t comm) noexcept;
  // Calls NCCL; PeerError once all is aborted.
  template <class Body>
  void call(const char* name, Body&& body) {
    require_whole();
    const std::lock_guard lock(mutex_);
    require_whole();
    library_->check(body(), name);
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
  [[noreturn]] void fail(MeshAxis axis, ncclResult_t error);

  std::shared_ptr<const NcclLibrary> library_;
  std::string rank_;
  std::unique_ptr<DeviceQueue> queue_;
  std::shared_ptr<Heartbeat> heartbeat_;
  std::function<std::string()> explain_;
  std::timed_mutex mutex_;  // of NCCL and of what follows
  std::vector<Member> members_;
  std::atomic<bool> aborted_{false};  // looked at before the mutex: who aborts may hang in NCCL
};

}  // namespace weft
