// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <type_traits>

#include "kernels/context.h"

namespace weft {

// Between the host and a device: the only ways in and out of a tensor for code above kernels/. On the dry device they
// are counted and move nothing.

// to = the host's bytes, which may go once this returns.
void upload_bytes(Context& context, std::span<const std::byte> from, const Tensor& to);
// The host's bytes = from: waits for the device, so it stands only where a result is needed (Ledger "download").
void download_bytes(Context& context, const Tensor& from, std::span<std::byte> to);

// An upload beside the device's work. Its tensor is taken when this is made, and what is queued from then on neither
// waits for the upload nor is waited for:
//   UploadAhead next(context, {n}, DType::I32);
//   ...                  // work that does not read next.tensor()
//   next.send(bytes);
//   next.arrive();       // what is queued from here on may read it
class UploadAhead {
 public:
  UploadAhead(Context& context, const Shape& shape, DType dtype);
  ~UploadAhead();  // arrives: the tensor's memory may have another use at once
  UploadAhead(const UploadAhead&) = delete;
  UploadAhead& operator=(const UploadAhead&) = delete;
  const Tensor& tensor() const { return tensor_; }
  void send(std::span<const std::byte> from);  // the host's bytes may go once this returns
  void arrive();

 private:
  Context& context_;
  Tensor tensor_;
};

// Tensors of a device as they are when the work queued so far is done, copied to the host beside what is queued later:
// by the device, or where that is the host's processor by whoever waits for it. Before what is queued writes to one of
// them, await_snapshots() is called. The tensors and `context` stay until this has gone.
class Snapshot {
 public:
  // to[i] = from[i], each in memory of snapshot_memory(context). Each counts as a "snapshot_copy".
  Snapshot(Context& context, std::span<const Tensor> from, std::span<const std::span<std::byte>> to);
  ~Snapshot();  // waits
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  // Until `to` holds all of it. From any thread; DeviceError if the device has failed.
  void wait();

 private:
  Context& context_;
};
// Host memory that a device copies to on its own: pinned, where that is a thing. It takes long to make, so it is kept.
std::shared_ptr<Allocator> snapshot_memory(Context& context);
// What is queued from here on comes after the copies of all snapshots: for all that writes weights or moments. The host
// does not wait for a device; the processor itself waits, and helps.
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

// A tensor of these elements: one dim.
template <class T>
Tensor to_device(Context& context, std::span<const T> elements) {
  const Tensor t = context.empty({static_cast<int64_t>(elements.size())}, DTypeOf<T>::value);
  upload(context, elements, t);
  return t;
}

}  // namespace weft
