// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

namespace weft {

class Context;

// Measures intervals of a device's queue of operations with the device's clock: the host only queues, so its clock
// cannot. An interval includes the time that its operations wait. For the thread that runs the context's operations.
// The context must outlive it.
class DeviceStopwatch {
 public:
  virtual ~DeviceStopwatch() = default;
  virtual void start() = 0;  // begins an interval after the operations queued so far
  virtual void stop() = 0;
  // Discards the intervals so far.
  virtual void reset() = 0;
  // Seconds of all intervals since reset(), then reset(). The host must have waited for the device since the last
  // stop(). An interval within a captured graph counts once for each of its launches, with the time of the last one.
  virtual double take() = 0;
};

// Null for the CPU, whose queue is the calling thread: the host's clock measures it.
std::unique_ptr<DeviceStopwatch> make_device_stopwatch(Context& context);

}  // namespace weft
