// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weft {

// A thread that does small works one after another, in the order in which they were given, so that the thread that
// gives them does not wait for a disk. Works must not throw.
class TaskThread {
 public:
  TaskThread();
  // Waits until all is done.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Waits only if kMost works are not done yet.
  void add(std::function<void()> work);
  void finish();  // waits until all that was given is done

  static constexpr size_t kMost = 100000;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> works_;  // the first is under way
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace weft
