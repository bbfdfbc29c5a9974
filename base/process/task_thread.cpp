// SPDX-License-Identifier: Apache-2.0
#include "base/process/task_thread.h"

#include <utility>

#include "base/process/new_thread.h"

namespace weft {

TaskThread::TaskThread() : thread_(new_thread([this] { run(); })) {}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void TaskThread::add(std::function<void()> work) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return works_.size() < kMost; });
  works_.push_back(std::move(work));
  changed_.notify_all();
}

void TaskThread::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return works_.empty(); });
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !works_.empty(); });
    if (works_.empty()) return;
    const std::function<void()>& work = works_.front();  // a deque's other elements come and go around it
    lock.unlock();
    work();
    lock.lock();
    works_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace weft
