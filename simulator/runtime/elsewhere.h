// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

// Simulated devices of other processes that work with those of this process (libraries/nccl/): they may end a wait.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual bool any() const = 0;  // there are such processes
  // Publishes how often something has moved here, and whether this process waits with nothing to run. Returns how often
  // something has moved in the other processes.
  virtual uint64_t exchange(uint64_t moves, bool waits) = 0;
  virtual bool awaited() const = 0;           // one of the other processes waits
  virtual std::string positions() const = 0;  // the progress of each process, for messages
};

}  // namespace weft::cuda_device
