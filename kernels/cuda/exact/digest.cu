// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/tuning.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/ops/exact/digest.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = tuning::kElementThreads;

// The bits of kVector<Bits> elements, which lie in 16 bytes.
template <class Bits>
__device__ inline void load_bits(const Bits* at, uint64_t (&to)[kVector<Bits>]) {
  const uint4 vector = *reinterpret_cast<const uint4*>(at);
  const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < kVector<Bits>; ++i) {
    if constexpr (sizeof(Bits) == 8) {
      to[i] = words[2 * i] | uint64_t{words[2 * i + 1]} << 32;
    } else if constexpr (sizeof(Bits) == 4) {
      to[i] = words[i];
    } else {
      to[i] = i % 2 == 0 ? words[i / 2] & 0xffffu : words[i / 2] >> 16;
    }
  }
}

// The blocks add to `sum` in any order: integers give the same.
template <class Bits, bool kAligned, bool kHashed>
__global__ void __launch_bounds__(kThreads)
    digest_of_elements(const Bits* x, uint64_t key, unsigned long long* sum, int64_t elements) {
  constexpr int kPiece = kVector<Bits>;
  __shared__ uint64_t words[kThreads / kWarp];
  const auto term = [key](int64_t i, uint64_t bits) {
    return kHashed ? element_digest(key, static_cast<uint64_t>(i), bits) : bits;
  };
  uint64_t mine = 0;
  for (int piece = 0; piece < tuning::kDigestPieces; ++piece) {
    const int64_t first = ((int64_t{blockIdx.x} * tuning::kDigestPieces + piece) * kThreads + threadIdx.x) * kPiece;
    if (kAligned && first + kPiece <= elements) {
      uint64_t bits[kPiece];
      load_bits(x + first, bits);
#pragma unroll
      for (int i = 0; i < kPiece; ++i) mine += term(first + i, bits[i]);
    } else {
      for (int64_t i = first; i < first + kPiece && i < elements; ++i) mine += term(i, x[i]);
    }
  }
  mine = row_sum(mine, words);
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<unsigned long long>(mine));
}

template <class Bits, bool kHashed>
void launch_digest(const Stream& stream, const AddDigest& args) {
  constexpr int64_t kBlock = int64_t{kThreads} * kVector<Bits> * tuning::kDigestPieces;
  const auto* const x = reinterpret_cast<const Bits*>(args.x.device_raw());
  auto* const sum = reinterpret_cast<unsigned long long*>(args.sum.device_data<int64_t>());
  const int64_t n = args.x.elements();
  const bool aligned = reinterpret_cast<uintptr_t>(x) % 16 == 0;
  launch(stream, aligned ? digest_of_elements<Bits, true, kHashed> : digest_of_elements<Bits, false, kHashed>,
         blocks_for(n, kBlock), kThreads, 0, x, args.key.value_or(0), sum, n);
}

}  // namespace

template <>
void CudaBackend::run(const AddDigest& args) {
  if (!args.key) return launch_digest<uint64_t, false>(stream(), args);
  switch (size_of(args.x.dtype())) {
    case 2:
      return launch_digest<uint16_t, true>(stream(), args);
    case 4:
      return launch_digest<uint32_t, true>(stream(), args);
    default:
      return launch_digest<uint64_t, true>(stream(), args);
  }
}

}  // namespace weft::cuda
