// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/context.h"

namespace weft {

// Digests of tensors, added up on their device (kernels/ops/exact/digest.h). Nothing waits for the device before
// value().
class TensorDigest {
 public:
  explicit TensorDigest(Context& context) : context_(context), sum_(context.zeros({1}, DType::I64)) {}
  void add(const Tensor& tensor, uint64_t key);  // `key` tells tensors apart
  void add_integers(const Tensor& tensor);       // i64: of their sum it is the sum
  uint64_t value() const;
  const Tensor& sum() const { return sum_; }  // i64[1], the value where it is computed

 private:
  Context& context_;
  Tensor sum_;
};

// The digest of one tensor. It waits for the device.
uint64_t digest_of(Context& context, const Tensor& tensor, uint64_t key);
// The same of bytes on the host, those of a tensor of this type from its element `first` on.
uint64_t digest_of(std::span<const std::byte> bytes, DType dtype, uint64_t key, uint64_t first = 0);

}  // namespace weft
