// SPDX-License-Identifier: Apache-2.0
#include "base/process/signals.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>

#include "base/process/new_thread.h"

namespace weft {
namespace {

constexpr std::array kSignals = {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP, SIGXCPU};

// A handler can reach nothing but static storage.
std::atomic<int>& received() {
  static std::atomic<int> count{0};
  static_assert(std::atomic<int>::is_always_lock_free);
  return count;
}

void on_signal(int signal) {
  if (received().fetch_add(1) > 0) _exit(128 + signal);
}

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals() : before_(kSignals.size()) {
  received() = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    // nohup has a hang-up ignored, which stays so.
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  receiver_ = new_thread([this] { wait_for_end(); });
}

// The body of the only thread that does not block the signals.
void StopSignals::wait_for_end() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_; });
}

StopSignals::~StopSignals() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  receiver_.join();
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  received() = 0;
}

bool StopSignals::stop_asked() { return received() > 0; }

}  // namespace weft
