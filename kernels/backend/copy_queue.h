// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "kernels/tensor.h"

namespace weft {

// A queue of copies between host and device beside a backend's queue of operations. Only fork(), join() and wait()
// order one after the other.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;
  // Later copies start after the operations queued so far.
  virtual void fork() = 0;
  // Later operations start after the copies queued so far.
  virtual void join() = 0;
  // The host's bytes have been read when upload() returns.
  virtual void upload(std::span<const std::byte> from, const Tensor& to) = 0;
  // `to` lies in Backend::host_memory(); it holds the copy once wait() has returned.
  virtual void download(const Tensor& from, std::span<std::byte> to) = 0;
  // Blocks the calling thread, which may be any, until the copies queued so far are done.
  virtual void wait() = 0;
};

}  // namespace weft
