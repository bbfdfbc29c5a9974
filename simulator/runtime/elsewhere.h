// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace weft::cuda_device {

// Simulated devices of other processes that this one's work with (libraries/nccl/): a wait may end by what they do.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  virtual bool any() const = 0;  // there are such processes
  // Tells them how often something has moved here, and whether this process waits with nothing to run; answers how
  // often something has moved there.
  virtual uint64_t exchange(uint64_t moves, bool waits) = 0;
  virtual bool awaited() const = 0;           // one of them waits
  virtual std::string positions() const = 0;  // where each is, for messages
};

}  // namespace weft::cuda_device
