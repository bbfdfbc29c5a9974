// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/tensor_hash.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/hash.h"
#include "kernels/transfer.h"

namespace weft {

namespace {

// Calls f with the bytes of pieces of the tensor, in order, on the host.
template <class F>
void for_each_piece(Context& context, const Tensor& tensor, F&& f) {
  constexpr int64_t kPiece = int64_t{1} << 18;  // in a processor's cache
  std::vector<std::byte> bytes;
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPiece) {
    const Tensor piece = tensor.flat(begin, Shape{std::min(kPiece, tensor.elements() - begin)});
    bytes.resize(piece.bytes());
    download_bytes(context, piece, bytes);
    f(bytes);
  }
}

}  // namespace

uint64_t hash_of(std::span<const std::byte> bytes, uint64_t seed) {
  Hasher hasher;
  hasher.update(&seed, sizeof seed);
  hasher.update(bytes.data(), bytes.size());
  return hasher.digest();
}

uint64_t hash_of(Context& context, const Tensor& tensor, uint64_t seed) {
  Hasher hasher;
  hasher.update(&seed, sizeof seed);
  for_each_piece(context, tensor, [&](std::span<const std::byte> bytes) { hasher.update(bytes.data(), bytes.size()); });
  return hasher.digest();
}

uint64_t sum_of_integers(Context& context, const Tensor& tensor) {
  require<InternalError>(tensor.dtype() == DType::I64, "integers are summed");
  uint64_t sum = 0;
  for_each_piece(context, tensor, [&](std::span<const std::byte> bytes) {
    for (size_t at = 0; at < bytes.size(); at += sizeof sum) {
      uint64_t element = 0;
      std::memcpy(&element, &bytes[at], sizeof element);
      sum += element;
    }
  });
  return sum;
}

}  // namespace weft
