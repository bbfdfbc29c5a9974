// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "kernels/backend/copy_queue.h"
#include "kernels/cuda/runtime/staging.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// Copies on a stream beside that of the operations: a device's copy engines work while its cores do.
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
  bool unjoined_ = false;           // there are copies that operations have not been told to wait for
  std::optional<Staging> staging_;  // of uploads, once there are any
};

}  // namespace weft::cuda
