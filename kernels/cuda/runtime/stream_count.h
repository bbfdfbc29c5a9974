// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// A number in the host's memory that a stream counts up. A kernel adds to it, so that a graph may replay the count:
// cuStreamWriteValue would write a number that is known when it is queued, and needs the driver's interface. One thread
// reads and writes one word, so the stream's next work hardly waits.
class StreamCount {
 public:
  explicit StreamCount(int device);
  // Adds one when all work queued so far is done. Every call must pass the same stream.
  void up(const Stream& stream) const;
  const std::shared_ptr<std::atomic<uint64_t>>& number() const { return number_; }

 private:
  std::shared_ptr<std::atomic<uint64_t>> number_;
};

}  // namespace weft::cuda
