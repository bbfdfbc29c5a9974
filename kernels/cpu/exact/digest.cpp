// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/exact/digest.h"

#include <atomic>
#include <cstring>

#include "base/hash.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

uint64_t sum_of_integers(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (size_t at = 0; at < bytes.size(); at += sizeof sum) {
    uint64_t element = 0;
    std::memcpy(&element, &bytes[at], sizeof element);
    sum += element;
  }
  return sum;
}

uint64_t digest_of_part(const AddDigest& args, int64_t begin, std::span<const std::byte> bytes) {
  if (!args.key) return sum_of_integers(bytes);
  const auto index = static_cast<uint64_t>(begin);
  switch (size_of(args.x.dtype())) {
    case 2:
      return digest_of_run<uint16_t>(*args.key, index, bytes);
    case 4:
      return digest_of_run<uint32_t>(*args.key, index, bytes);
    default:
      return digest_of_run<uint64_t>(*args.key, index, bytes);
  }
}

}  // namespace

template <>
void CpuBackend::run(const AddDigest& args) {
  const std::byte* const x = args.x.device_raw();
  const size_t width = size_of(args.x.dtype());
  const std::atomic_ref sum(*args.sum.device_data<int64_t>());
  parallel_for(threads_, args.x.elements(), kElementGrain, [&](int64_t begin, int64_t end) {
    const std::span bytes(x + static_cast<size_t>(begin) * width, static_cast<size_t>(end - begin) * width);
    sum.fetch_add(static_cast<int64_t>(digest_of_part(args, begin, bytes)), std::memory_order_relaxed);
  });
}

}  // namespace weft::cpu
