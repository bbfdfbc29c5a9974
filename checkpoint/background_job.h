// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace weft {

// Runs work on its own thread, one piece at a time: a save beside the training.
class BackgroundJob {
 public:
  ~BackgroundJob();
  // Requires that the previous work has ended.
  void start(std::function<void()> work);
  bool ended() const;
  void wait();
  // True if the work has ended by then.
  bool wait_for(std::chrono::milliseconds time);
  // The message of what the last work threw, once it has ended; "" if it threw nothing.
  const std::string& failure() const { return failure_; }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = true;
  std::string failure_;
  std::thread thread_;
};

}  // namespace weft
