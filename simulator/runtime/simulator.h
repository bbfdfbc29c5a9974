// SPDX-License-Identifier: Apache-2.0
// All state of the simulated devices, in one object, since the runtime's C interface passes none. It is made at first
// use and never destroyed, since programs call the runtime from destructors of their own at exit.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "simulator/machine/dim.h"
#include "simulator/machine/memory.h"
#include "simulator/machine/reports.h"
#include "simulator/runtime/device.h"
#include "simulator/runtime/elsewhere.h"
#include "simulator/runtime/kernel_counts.h"
#include "simulator/runtime/pinned_guard.h"
#include "simulator/runtime/programs.h"
#include "simulator/runtime/results.h"
#include "simulator/runtime/schedule.h"
#include "simulator/runtime/settings.h"
#include "simulator/runtime/status.h"

namespace weft::cuda_device {

class Simulator {
 public:
  Simulator();
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Every call holds the mutex while it uses this object. It is recursive: a fault may come while it is held.
  std::recursive_mutex mutex;
  const Settings settings;
  Reports reports;
  Schedule schedule;
  Memory memory;
  Programs programs;
  PinnedGuard pinned;
  Counters counters;       // all launches that have run
  CountsByKernel kernels;  // the counters of each kernel
  Results results;         // all operations that have run, if the settings ask for them

  const DeviceLimits::Multiprocessor& multiprocessor() const {
    return DeviceLimits::multiprocessor(settings.capability);
  }

  // Memory that the host and every device reach (cudaMallocManaged) is pinned memory with another name here.
  std::set<uint64_t> managed;
  bool is_managed(const void* p) const;

  // The stream of a program's handle: null and 1 are the default stream of the thread's device. Returns null if this
  // process has no such stream.
  Stream* stream_of(const void* handle);

  // Frees any memory. The host cannot touch pinned memory any more once it is freed.
  void free(const Allocation& allocation);

  // Puts work into a stream. When the work runs, it is the operation whose accesses memory checks, and a wrong access
  // makes its device fail. It does not run on a device that has failed before.
  OpId enqueue(Stream& stream, std::string name, std::function<void(OpId)> body, double microseconds = 1) {
    return enqueue(stream, Work{.name = std::move(name), .body = std::move(body), .microseconds = microseconds});
  }
  OpId enqueue(Stream& stream, Work work);

  // Runs what can run until `done` is true. The host's other threads continue meanwhile. Returns false if nothing has
  // moved for as long as the settings' patience.
  bool run_until(const std::function<bool()>& done);

  // Waits as the host. Returns the first error of the device so far; a device never recovers.
  Status wait_for(int device, OpId id);
  Status wait_for(Stream& stream);
  Status wait_for_device(int device);
  // Wakes threads that wait in run_until().
  void note_move();
  bool host_waits() const { return waiting_ > 0; }  // a thread is in run_until()
  // Devices of other processes; null if there are no such processes.
  std::unique_ptr<Elsewhere> elsewhere;
  // Elsewhere::exchange(), if there are such devices.
  uint64_t exchange_moves(bool waits);
  // Whether operation `id` is finished; if so, the host knows that from now on. To other processes, a host that asks
  // counts as one that waits.
  bool finished(OpId id);
  // The status that every call returns first: Success, or how the device has failed.
  Status health(int device) const { return failed_.at(static_cast<size_t>(device)); }
  void fail(int device, Status how);

  // Calls a host function as operation `op`: meanwhile, pinned memory of earlier operations belongs to the host.
  void run_on_host(OpId op, void (*function)(void*), void* data);

  // Count the program's allocations, launches and collectives, of which the settings may make the n-th fail.
  bool allocation_fails() { return ++allocations_ == settings.fail_allocation; }
  uint64_t count_launch() { return ++launches_; }
  uint64_t count_collective() { return ++collectives_; }

  // How often the program has called each function of cuBLASLt, for tests of what the host does.
  std::map<std::string, uint64_t> library_calls;

  // By device: NCCL's collectives that have been put into a stream and are not done.
  std::map<int, int> collectives_under_way;

  Event& create_event();
  bool has(const Event* event) const;
  void destroy(Event* event);

 private:
  Work checked(int device, Work work);
  void let_go_of_pinned();
  bool await_move(uint64_t seen_there, const std::function<bool()>& done);

  std::condition_variable_any moved_;  // something was enqueued, or has run
  uint64_t moves_ = 0;
  int waiting_ = 0;
  std::vector<Status> failed_;  // by device
  uint64_t allocations_ = 0, launches_ = 0, collectives_ = 0;
  std::map<const Event*, std::unique_ptr<Event>> events_;
};

Simulator& simulator();

// Ends the program with a message: it uses something that the simulator does not know.
[[noreturn]] void refuse(const std::string& sentence);

// State that the runtime keeps for each thread of the host.
struct ThreadState {
  int device = 0;
  Status last_error = Status::Success;
  struct Configuration {
    Dim grid, block;
    size_t shared_bytes;
    void* stream;
  };
  std::vector<Configuration> configurations;  // between <<<...>>> and the launch
};
ThreadState& this_thread();

}  // namespace weft::cuda_device
