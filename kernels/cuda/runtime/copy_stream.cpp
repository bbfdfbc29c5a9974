// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/copy_stream.h"

#include "kernels/cuda/runtime/errors.h"

namespace weft::cuda {

CopyStream::CopyStream(const Stream& operations)
    : operations_(operations), copies_(operations.device()), forked_(operations.device()), done_(operations.device()) {}

// A wait refers to the mark as it is when the wait is queued, so the next fork may set it again at once.
void CopyStream::fork() {
  operations_.record(forked_);
  copies_.wait(forked_);
}

void CopyStream::join() {
  if (!unjoined_) return;
  copies_.record(done_);
  operations_.wait(done_);
  unjoined_ = false;
}

void CopyStream::upload(std::span<const std::byte> from, const Tensor& to) {
  if (!staging_) staging_.emplace(copies_);
  staging_->upload(from, to.device_raw());
  unjoined_ = true;
}

void CopyStream::download(const Tensor& from, std::span<std::byte> to) {
  select_device(copies_.device());
  check(cudaMemcpyAsync(to.data(), from.device_raw(), to.size(), cudaMemcpyDeviceToHost, copies_.get()),
        "copying from the device");
  unjoined_ = true;
}

void CopyStream::wait() {
  select_device(copies_.device());
  copies_.finish();
}

}  // namespace weft::cuda
