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
