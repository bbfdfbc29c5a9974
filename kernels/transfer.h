// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <type_traits>

#include "kernels/context.h"

namespace weft {

// Copies between the host and a device: the only access to a tensor's elements for code above kernels/. The dry device
// counts them and moves nothing.

// to = the host's bytes, which may be freed once this returns.
void upload_bytes(Context& context, std::span<const std::byte> from, const Tensor& to);
// The host's bytes = from. It waits for the device, so call it only where a result is needed (Ledger "download").
void download_bytes(Context& context, const Tensor& from, std::span<std::byte> to);

// An upload that overlaps the device's work. The constructor allocates the tensor. Operations queued after that do not
// wait for the upload, nor the upload for them, until arrive():
//   UploadAhead next(context, {n}, DType::I32);
//   ...                  // operations that do not read next.tensor()
//   next.send(bytes);
//   next.arrive();       // operations queued from here on may read it
class UploadAhead {
 public:
  UploadAhead(Context& context, const Shape& shape, DType dtype);
  ~UploadAhead();  // arrives: the tensor's memory may be reused at once
  UploadAhead(const UploadAhead&) = delete;
  UploadAhead& operator=(const UploadAhead&) = delete;
  const Tensor& tensor() const { return tensor_; }
  void send(std::span<const std::byte> from);  // the host's bytes may be freed once this returns
  void arrive();

 private:
  Context& context_;
  Tensor tensor_;
};

// Copies tensors to the host as they are when the operations queued so far are done, while later operations run. A CUDA
// device copies by itself; on the CPU the thread that waits copies too. Call await_snapshots() before queueing an
// operation that writes to one of the tensors. The tensors and `context` must outlive the snapshot.
class Snapshot {
 public:
  // to[i] = from[i]; each to[i] lies in memory of snapshot_memory(context). Ledger "snapshot_copy".
  Snapshot(Context& context, std::span<const Tensor> from, std::span<const std::span<std::byte>> to);
  ~Snapshot();  // waits for the copies
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  // Returns when `to` holds the copies. For any thread. DeviceError if the device has failed.
  void wait();

 private:
  Context& context_;
};
// Host memory that a device can copy to by itself: pinned memory for CUDA. Allocating it is slow, so keep it.
std::shared_ptr<Allocator> snapshot_memory(Context& context);
// Operations queued from here on come after the copies of all snapshots. Call it before anything that writes weights or
// moments. On a device the host does not wait; on the CPU the caller waits, and helps with the copies.
void await_snapshots(Context& context);

template <class T>
void upload(Context& context, std::span<const T> from, const Tensor& to) {
  require<InternalError>(to.dtype() == DTypeOf<T>::value, "upload of {} to {}", name(DTypeOf<T>::value), to);
  upload_bytes(context, std::as_bytes(from), to);
}
template <class T>
void download(Context& context, const Tensor& from, std::span<T> to) {
  require<InternalError>(from.dtype() == DTypeOf<T>::value, "download of {} as {}", from, name(DTypeOf<T>::value));
  download_bytes(context, from, std::as_writable_bytes(to));
}

// A tensor with one dim and these elements.
template <class T>
Tensor to_device(Context& context, std::span<const T> elements) {
  const Tensor t = context.empty({static_cast<int64_t>(elements.size())}, DTypeOf<T>::value);
  upload(context, elements, t);
  return t;
}

}  // namespace weft
