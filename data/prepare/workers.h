// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "base/process/new_thread.h"

namespace weft {

// The inputs that wait for each thread, so that it stays busy while the caller closes a shard.
inline constexpr size_t kPendingOfThread = 8;

// Threads that map inputs to outputs; outputs are taken in the order of inputs. With one thread the work is done by
// the caller, in submit(). submit() and take() must be called from one thread.
template <class In, class Out>
class OrderedWorkers {
 public:
  OrderedWorkers(int threads, std::function<Out(const In&)> work) : work_(std::move(work)) {
    try {
      for (int i = 0; threads > 1 && i < threads; ++i) threads_.push_back(new_thread([this] { serve(); }));
    } catch (...) {
      end();
      throw;
    }
  }
  ~OrderedWorkers() { end(); }
  OrderedWorkers(const OrderedWorkers&) = delete;
  OrderedWorkers& operator=(const OrderedWorkers&) = delete;

  void submit(In input) {
    std::packaged_task<Out()> task([this, input = std::move(input)] { return work_(input); });
    results_.push_back(task.get_future());
    if (threads_.empty()) {
      task();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
  }
  // The oldest output that was not yet taken; rethrows what its work threw.
  Out take() {
    std::future<Out> result = std::move(results_.front());
    results_.pop_front();
    return result.get();
  }
  // Whether take() would return at once.
  bool ready() const {
    return !results_.empty() && results_.front().wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  size_t pending() const { return results_.size(); }
  // The number of pending inputs that keeps all threads busy.
  size_t window() const { return threads_.empty() ? 1 : kPendingOfThread * threads_.size(); }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      tasks_.clear();
    }
    wake_.notify_all();
    for (std::jthread& thread : threads_) thread.join();
  }
  void serve() {
    while (true) {
      std::packaged_task<Out()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::function<Out(const In&)> work_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<Out()>> tasks_;
  bool stop_ = false;
  std::deque<std::future<Out>> results_;
  std::vector<std::jthread> threads_;
};

}  // namespace weft
