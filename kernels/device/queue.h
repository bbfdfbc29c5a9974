// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace weft {

class Context;

// A queue of a device's work beside the one that operations go into, for a library that is handed the device's own
// queues: collectives between devices. What the two hold runs in any order, but for what these calls say; none of them
// keeps the host waiting. For the thread that runs the context's operations, and for no longer than the context lives.
class DeviceQueue {
 public:
  // A place in the queue.
  class Mark {
   public:
    virtual ~Mark() = default;
    virtual bool passed() = 0;  // whether all that lies before it is done
  };

  virtual ~DeviceQueue() = default;
  // As the device's libraries take it: a cudaStream_t. Its device is the calling thread's own from then on.
  virtual void* handle() = 0;
  // What it is given from now on starts when the operations queued so far are done.
  virtual void follow_operations() = 0;
  // Behind all that it was given so far.
  virtual std::unique_ptr<Mark> mark() = 0;
  // Operations queued from now on start when the mark is passed.
  virtual void hold_operations_until(const Mark& mark) = 0;
  // The queue's own count of the places that it has passed, which begins at 0: count_up() puts one behind all that it
  // was given so far. Any thread may read it at any time, also one that must not ask the device for anything. It
  // outlives the queue.
  virtual void count_up() = 0;
  virtual std::shared_ptr<const std::atomic<uint64_t>> count() const = 0;
};

// InternalError on a device whose queue is the calling thread.
std::unique_ptr<DeviceQueue> make_device_queue(Context& context);

}  // namespace weft
