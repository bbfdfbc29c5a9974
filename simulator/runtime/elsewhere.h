// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

// Simulated devices of other processes that work with this one's (libraries/nccl/): a wait may end through them.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual bool any() const = 0;  // there are such processes
  // Publishes how often something has moved here, and whether this process waits with nothing to run. Returns how often
  // something has moved there.
  virtual uint64_t exchange(uint64_t moves, bool waits) = 0;
  virtual bool awaited() const = 0;           // one of them waits
  virtual std::string positions() const = 0;  // where each is, for messages
};

}  // namespace weft::cuda_device
