// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace weft {

class Context;

// Marks points on a device's queue of operations and tells when the device reached them, by its own clock. For the
// thread that runs the context's operations. The context must outlive it.
class QueueClock {
 public:
  virtual ~QueueClock() = default;
  // Forgets all marks; times are counted from now. The host must have waited for the device.
  virtual void start() = 0;
  // The number of a mark behind all that is queued so far; -1 while a graph is captured, whose inside cannot be timed.
  virtual int64_t mark() = 0;
  // Seconds of each mark since start(), and forgets them. The host must have waited for the device.
  virtual std::vector<double> stop() = 0;
};

// Null for the CPU, whose queue is the calling thread.
std::unique_ptr<QueueClock> make_queue_clock(Context& context);

}  // namespace weft
