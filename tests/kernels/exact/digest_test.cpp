// SPDX-License-Identifier: Apache-2.0
// Digests of tensors: the sum of the hashes of their elements, wherever they begin and however many threads add it up.
#include "kernels/ops/exact/digest.h"

#include "base/hash.h"
#include "kernels/tensor_digest.h"
#include "tests/kernels/fixture/check.h"

namespace weft {
namespace {

using namespace test;

constexpr uint64_t kKey = 77;

// A tensor of any bits, which begins at element `first` of its memory.
template <class Bits>
Tensor any_bits(Context& context, DType dtype, int64_t n, int64_t first) {
  const Tensor all = context.empty({first + n}, dtype);
  auto* const bits = reinterpret_cast<Bits*>(all.raw());
  for (int64_t i = 0; i < first + n; ++i) bits[i] = static_cast<Bits>(hash64("bits", static_cast<uint64_t>(i)));
  return all.slice(first, first + n);
}

template <class Bits>
uint64_t by_elements(const Tensor& x) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    sum += element_digest(kKey, static_cast<uint64_t>(i), reinterpret_cast<const Bits*>(x.raw())[i]);
  }
  return sum;
}

template <class Bits>
void expect_digest_of(DType dtype) {
  for (const int threads : {1, 3}) {
    OperationContext context(Device{}, threads);
    for (const int64_t n : {1, 7, 129, 5003, 50021}) {
      for (const int64_t first : {0, 1}) {
        const Tensor x = any_bits<Bits>(context, dtype, n, first);
        const uint64_t expected = by_elements<Bits>(x);
        EXPECT_EQ(digest_of(context, x, kKey), expected) << x.text() << " from " << first << ", " << threads;
        const std::span bytes(x.raw(), x.bytes());
        const size_t half = bytes.size() / 2 / sizeof(Bits);
        const uint64_t in_two = digest_of(bytes.first(half * sizeof(Bits)), dtype, kKey) +
                                digest_of(bytes.subspan(half * sizeof(Bits)), dtype, kKey, half);
        EXPECT_EQ(in_two, expected) << x.text();
      }
    }
  }
}

TEST(AddDigest, IsTheSumOfTheHashesOfElementsOfTwoBytes) { expect_digest_of<uint16_t>(DType::BF16); }
TEST(AddDigest, IsTheSumOfTheHashesOfElementsOfFourBytes) {
  expect_digest_of<uint32_t>(DType::F32);
  expect_digest_of<uint32_t>(DType::I32);
}
TEST(AddDigest, IsTheSumOfTheHashesOfElementsOfEightBytes) { expect_digest_of<uint64_t>(DType::I64); }

// Each tensor adds to those before; an empty one adds nothing.
TEST(AddDigest, AddsUp) {
  OperationContext context;
  const Tensor x = any_bits<uint32_t>(context, DType::F32, 300, 0), y = any_bits<uint32_t>(context, DType::F32, 31, 5);
  TensorDigest digest(context);
  EXPECT_EQ(digest.value(), 0u);
  digest.add(x, kKey);
  digest.add(y, kKey + 1);
  digest.add(x.slice(0, 0), kKey);
  EXPECT_EQ(digest.value(), digest_of(context, x, kKey) + digest_of(context, y, kKey + 1));
  EXPECT_NE(digest.value(), digest_of(context, x, kKey + 1) + digest_of(context, y, kKey));
}

TEST(AddDigest, IsTheSumOfIntegersWithoutAKey) {
  OperationContext context;
  for (const int64_t n : {1, 7, 5003}) {
    for (const int64_t first : {0, 1}) {
      const Tensor x = any_bits<uint64_t>(context, DType::I64, n, first);
      const Tensor sum = context.empty({n}, DType::I64);
      uint64_t expected = 0;
      for (int64_t i = 0; i < n; ++i) {
        const auto element = static_cast<uint64_t>(x.data<int64_t>()[i]);
        sum.data<int64_t>()[i] = static_cast<int64_t>(3 * element);
        expected += element;
      }
      TensorDigest one(context), thrice(context);
      one.add_integers(x);
      thrice.add_integers(sum);
      EXPECT_EQ(one.value(), expected) << n;
      EXPECT_EQ(thrice.value(), 3 * expected) << n;
    }
  }
}

TEST(AddDigest, RefusesOtherElementsWithoutAKey) {
  OperationContext context;
  const Tensor x = context.zeros({3}, DType::F32), sum = context.zeros({1}, DType::I64);
  EXPECT_THROW(add_digest(context, {.x = x, .key = std::nullopt, .sum = sum}), InternalError);
}

}  // namespace
}  // namespace weft
