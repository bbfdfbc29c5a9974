// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

namespace weft {

class Context;

// Times stretches of a device's queue of operations by the device's own clock: the host, which only queues, sees
// nothing of them. What a stretch takes includes what its operations wait for. For the thread that runs the context's
// operations, and for no longer than the context lives.
class DeviceStopwatch {
 public:
  virtual ~DeviceStopwatch() = default;
  virtual void start() = 0;  // behind what is queued so far
  virtual void stop() = 0;
  // Forgets the stretches until now.
  virtual void reset() = 0;
  // Seconds of all stretches since reset(), and reset(). The host has waited for the device since the last stop(). 0
  // for stretches that a graph was captured from: its launches are not timed.
  virtual double take() = 0;
};

// Null where the queue is the calling thread, whose clock is the host's.
std::unique_ptr<DeviceStopwatch> make_device_stopwatch(Context& context);

}  // namespace weft
