// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/background_job.h"

#include <utility>

#include "base/process/new_thread.h"

namespace weft {

BackgroundJob::~BackgroundJob() {
  if (thread_.joinable()) thread_.join();
}

void BackgroundJob::start(std::function<void()> work) {
  wait();
  if (thread_.joinable()) thread_.join();
  // The thread finds `ended_` false, and nobody waits for a thread that does not begin.
  const std::lock_guard begins(mutex_);
  thread_ = new_thread([this, work = std::move(work)] {
    std::exception_ptr failure;
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    ended_ = true;
    changed_.notify_all();
  });
  ended_ = false;
}

bool BackgroundJob::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void BackgroundJob::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

bool BackgroundJob::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return ended_; });
}

}  // namespace weft
