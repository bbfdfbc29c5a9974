// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
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
  // Whether the last work threw, once it has ended; throw_failure() throws the same.
  bool failed() const { return failure_ != nullptr; }
  void throw_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = true;
  std::exception_ptr failure_;
  std::jthread thread_;
};

}  // namespace weft
