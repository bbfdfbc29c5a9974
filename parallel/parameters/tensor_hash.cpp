// SPDX-License-Identifier: Apache-2.0
#include "parallel/parameters/tensor_hash.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "kernels/transfer.h"

namespace weft {

uint64_t hash_of(Context& context, const Tensor& tensor, uint64_t seed) {
  constexpr int64_t kPiece = int64_t{1} << 22;
  Hasher hasher;
  hasher.update(&seed, sizeof seed);
  std::vector<std::byte> bytes;
  for (int64_t begin = 0; begin < tensor.elements(); begin += kPiece) {
    const Tensor piece = tensor.flat(begin, Shape{std::min(kPiece, tensor.elements() - begin)});
    bytes.resize(piece.bytes());
    download_bytes(context, piece, bytes);
    hasher.update(bytes.data(), bytes.size());
  }
  return hasher.digest();
}

}  // namespace weft
