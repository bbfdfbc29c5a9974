// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

namespace weft {

class Context;

// A second queue of a device, beside the queue of operations, for a library that takes the device's native queues:
// collectives between devices. Only these calls order work in the two queues; none of them blocks the host. For the
// thread that runs the context's operations. The context must outlive it.
class DeviceQueue {
 public:
  // A position in the queue.
  class Mark {
   public:
    virtual ~Mark() = default;
    virtual bool passed() = 0;  // whether all work before the mark is done
  };

  virtual ~DeviceQueue() = default;
  // The native queue, a cudaStream_t. Makes its device the calling thread's current device.
  virtual void* handle() = 0;
  // Work queued here from now on starts when the operations queued so far are done.
  virtual void follow_operations() = 0;
  // The position after all work queued here so far.
  virtual std::unique_ptr<Mark> mark() = 0;
  // Operations queued from now on start when the mark is passed.
  virtual void hold_operations_until(const Mark& mark) = 0;
  // count_up() queues an increment of count(), which starts at 0. Any thread may read the count at any time, even one
  // that must not call the device's runtime. The count outlives the queue.
  virtual void count_up() = 0;
  virtual std::shared_ptr<const std::atomic<uint64_t>> count() const = 0;
};

// InternalError for the CPU, whose only queue is the calling thread.
std::unique_ptr<DeviceQueue> make_device_queue(Context& context);

}  // namespace weft
