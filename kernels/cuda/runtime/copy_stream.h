// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "kernels/backend/copy_queue.h"
#include "kernels/cuda/runtime/staging.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// Copies on a stream of their own beside the operations: a device's copy engines work while its cores do.
class CopyStream : public CopyQueue {
 public:
  explicit CopyStream(const Stream& operations);

  void fork() override;
  void join() override;
  void upload(std::span<const std::byte> from, const Tensor& to) override;
  void download(const Tensor& from, std::span<std::byte> to) override;
  void wait() override;

 private:
  const Stream& operations_;
  Stream copies_;
  Event forked_, done_;
  bool unjoined_ = false;           // operations do not wait yet for some of the copies
  std::optional<Staging> staging_;  // made by the first upload
};

}  // namespace weft::cuda
