// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor_digest.h"

#include "base/hash.h"
#include "kernels/ops/exact/digest.h"
#include "kernels/transfer.h"

namespace weft {

void TensorDigest::add(const Tensor& tensor, uint64_t key) {
  if (tensor.elements() > 0) add_digest(context_, {.x = tensor, .key = key, .sum = sum_});
}

void TensorDigest::add_integers(const Tensor& tensor) {
  add_digest(context_, {.x = tensor, .key = std::nullopt, .sum = sum_});
}

uint64_t TensorDigest::value() const {
  int64_t sum = 0;
  download(context_, sum_, std::span(&sum, 1));
  return static_cast<uint64_t>(sum);
}

uint64_t digest_of(Context& context, const Tensor& tensor, uint64_t key) {
  TensorDigest digest(context);
  digest.add(tensor, key);
  return digest.value();
}

uint64_t digest_of(std::span<const std::byte> bytes, DType dtype, uint64_t key, uint64_t first) {
  switch (size_of(dtype)) {
    case 2:
      return digest_of_run<uint16_t>(key, first, bytes);
    case 4:
      return digest_of_run<uint32_t>(key, first, bytes);
    default:
      return digest_of_run<uint64_t>(key, first, bytes);
  }
}

}  // namespace weft
