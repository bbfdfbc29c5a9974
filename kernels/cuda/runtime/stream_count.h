// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// A number in the host's memory that a stream counts up. By a kernel, and not by cuStreamWriteValue: it adds where the
// other would write a number that was known when it was queued, so that a graph may replay it; and it needs nothing of
// the driver's interface. One thread reads and writes one word: what comes next in the stream hardly waits.
class StreamCount {
 public:
  explicit StreamCount(int device);
  void up(const Stream& stream) const;  // one more when all that was queued so far is done; of one stream alone
  const std::shared_ptr<std::atomic<uint64_t>>& number() const { return number_; }

 private:
  std::shared_ptr<std::atomic<uint64_t>> number_;
};

}  // namespace weft::cuda
