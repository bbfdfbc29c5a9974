// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "kernels/tensor.h"

namespace weft {

// Copies between host and device beside the operations of a backend, in an order of their own. Host and device meet
// where they say so: nothing but fork(), join() and wait() orders one queue after the other.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;
  // Copies from here on come after the operations that are queued now.
  virtual void fork() = 0;
  // Operations from here on come after the copies that are queued now.
  virtual void join() = 0;
  // The host's bytes have been read when it returns.
  virtual void upload(std::span<const std::byte> from, const Tensor& to) = 0;
  // `to` lies in Backend::host_memory(), and holds what it is to hold once wait() has returned.
  virtual void download(const Tensor& from, std::span<std::byte> to) = 0;
  // The host waits for the copies that are queued now. From any thread.
  virtual void wait() = 0;
};

}  // namespace weft
