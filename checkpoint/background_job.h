// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft {

// Work on a thread of its own, one piece at a time: what a save does beside the training.
class BackgroundJob {
 public:
  ~BackgroundJob();
  // The one before has ended.
  void start(std::function<void()> work);
  bool ended() const;
  void wait();
  // True if it has ended by then.
  bool wait_for(std::chrono::milliseconds time);
  // Of one that has ended: what it threw, "" if nothing.
  const std::string& failure() const { return failure_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = true;
  std::string failure_;
  std::thread thread_;
};

}  // namespace weft
