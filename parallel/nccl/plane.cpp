// SPDX-License-Identifier: Apache-2.0
#include "parallel/nccl/plane.h"

#include <exception>
#include <utility>

#include "parallel/watch/standstill.h"
#include "parallel/watch/within.h"

namespace weft {
namespace {
constexpr std::chrono::seconds kAbortTakes(5), kCallTakes(2);
}  // namespace

NcclPlane::NcclPlane(std::shared_ptr<const NcclLibrary> library, std::string rank, std::unique_ptr<DeviceQueue> queue,
                     std::shared_ptr<Heartbeat> heartbeat)
    : library_(std::move(library)),
      rank_(std::move(rank)),
      queue_(std::move(queue)),
      heartbeat_(std::move(heartbeat)) {}

void NcclPlane::add(MeshAxis axis, ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  members_.push_back({axis, comm});
}

// While an exception unwinds, other ranks may never finish the collectives under way.
void NcclPlane::remove(ncclComm_t comm) noexcept {
  if (aborted_) return;
  const std::lock_guard lock(mutex_);
  if (std::erase_if(members_, [comm](const Member& m) { return m.comm == comm; }) == 0) return;
  if (std::uncaught_exceptions() > 0) {
    library_->check_quietly(library_->abort(comm), "ncclCommAbort");
  } else {
    library_->check_quietly(library_->destroy(comm), "ncclCommDestroy");
  }
}

void NcclPlane::require_whole() const {
  require<PeerError>(!aborted_, "{}: the communicators are aborted, since the ranks made no progress", rank_);
}

// A failed collective never ends, and blocks the device: so the host does not block on the device, but polls NCCL while
// it waits. A poll costs a few hundred nanoseconds on the host, and nothing on the device.
void NcclPlane::settle() {
  queue_->follow_operations();
  const std::unique_ptr<DeviceQueue::Mark> done = queue_->mark();
  while (!done->passed()) {
    check();
    std::this_thread::yield();
  }
  check();  // aborted collectives are complete too
}

ncclResult_t NcclPlane::state_of(ncclComm_t comm) const {
  ncclResult_t state = ncclSuccess;
  library_->check(library_->async_error(comm, &state), "ncclCommGetAsyncError");
  return state;
}

void NcclPlane::check() {
  Member failed{};
  ncclResult_t error = ncclSuccess;
  require_whole();
  {
    const std::lock_guard lock(mutex_);
    for (const Member& m : members_) {
      const ncclResult_t state = state_of(m.comm);
      if (!NcclLibrary::taken(state)) failed = m, error = state;
    }
  }
  if (error != ncclSuccess) fail(failed.axis, error);
}

void NcclPlane::fail(MeshAxis axis, ncclResult_t error) {
  const std::string more = explain_ ? explain_() : "";
  heartbeat_->device().look();
  const auto at = heartbeat_->device().awaited();
  const std::string what = fmt::format("{}: NCCL over {} has failed{}: {}{}{}", rank_, name(axis),
                                       at && at->axis == axis ? " in " + describe(*at) : "", library_->words(error),
                                       more.empty() ? "" : "; ", more);
  // The abort comes before the exception, since destructors wait for the device while the exception unwinds.
  finish_within(kAbortTakes, [self = shared_from_this()] { self->abort(); });
  NcclLibrary::throw_failure(error, what);
}

// The aborts form a group: one by one, the first would wait for the device, which still waits in the second. If the
// main thread does not return from an NCCL call, no NCCL function may be called, and the process ends without aborting.
void NcclPlane::abort() noexcept {
  const std::unique_lock lock(mutex_, kCallTakes);
  if (!lock || aborted_) return;
  aborted_ = true;
  library_->check_quietly(library_->group_start(), "ncclGroupStart");
  for (const Member& m : std::exchange(members_, {})) {
    library_->check_quietly(library_->abort(m.comm), "ncclCommAbort");
  }
  library_->check_quietly(library_->group_end(), "ncclGroupEnd");
}

}  // namespace weft
