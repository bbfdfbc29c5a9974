// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

// While an object exists, SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP (a terminal is gone) and SIGXCPU (a limit of time)
// ask for a stop instead of ending the process: the training loop sees stop_asked() at its next step, saves and leaves.
// A second signal ends the process at once (128 + signal). A signal that was ignored before stays ignored.
//
// Handlers run on a thread of their own; the thread that makes this object, and all threads that it starts later,
// block these signals. They must: oneDNN's generated products keep the stack pointer in a heap buffer while they run,
// and a handler's frame written there destroys the heap. So it must be made before MPI and OpenMP start threads.
// At most one object at a time, since signal handlers are state of the whole process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool stop_asked();

 private:
  void wait_for_end();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<struct sigaction> before_;  // of each signal, in their order
  bool ending_ = false;
  std::jthread receiver_;
};

}  // namespace weft
