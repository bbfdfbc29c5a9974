// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft {

// Runs one piece of work at a time on its own thread, such as a save during training.
class BackgroundJob {
 public:
  ~BackgroundJob();
  // Requires that the previous work has ended.
  void start(std::function<void()> work);
  bool ended() const;
  void wait();
  // Waits for `time` at most. True if the work has ended.
  bool wait_for(std::chrono::milliseconds time);
  // The message of the exception that the last work threw, once the work has ended; "" if it threw none.
  const std::string& failure() const { return failure_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = true;
  std::string failure_;
  std::thread thread_;
};

}  // namespace weft
