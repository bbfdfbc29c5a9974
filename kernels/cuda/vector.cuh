// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_bf16.h>

#include <cstdint>

namespace weft::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

// The thread's number in a launch whose grid and blocks have one dimension.
__device__ inline int64_t thread_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

// Reduces x over the lanes of a warp; all of them get the same bits.
template <class T, class Operation>
__device__ inline T warp_reduce(T x, Operation&& operation) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x = operation(x, __shfl_xor_sync(kAllLanes, x, distance));
  }
  return x;
}

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
// bf16 by the hardware's conversion, to nearest even as BFloat16's (kernels/dtype.h), which computes with integers.
template <class T>
__device__ inline T from_float(float x) {
  if constexpr (sizeof(T) == 2) {
    return __float2bfloat16_rn(x);
  } else {
    return x;
  }
}

// Two floats rounded to bf16, the first in the lower half.
__device__ inline uint32_t bf16_pair(float first, float second) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Elements in 16 bytes, which a thread reads and writes in one request: 4 of f32, 8 of bf16.
template <class T>
constexpr int kVector = 16 / sizeof(T);

// Loads kVector<T> elements at `from`, a multiple of 16 bytes, as floats. It reads a uint4, since the compiler would
// read a struct of bf16 in pieces.
template <class T>
__device__ inline void load_vector(const T* from, float (&to)[kVector<T>]) {
  const uint4 bits = *reinterpret_cast<const uint4*>(from);
  const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 2) {
      to[2 * w] = __uint_as_float(words[w] << 16);
      to[2 * w + 1] = __uint_as_float(words[w] & 0xffff0000u);
    } else {
      to[w] = __uint_as_float(words[w]);
    }
  }
}

// Stores to global memory by inline assembly: the compiler splits some stores of a uint4.
template <class T>
__device__ inline void store_vector(T* to, const float (&from)[kVector<T>]) {
  uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 2) {
      words[w] = bf16_pair(from[2 * w], from[2 * w + 1]);
    } else {
      words[w] = __float_as_uint(from[w]);
    }
  }
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(words[0]),
               "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

// Whether rows of `columns` elements at `p` can be read by vectors.
template <class T>
__host__ __device__ inline bool vectorised(const T* p, int64_t columns) {
  return reinterpret_cast<uintptr_t>(p) % 16 == 0 && columns % kVector<T> == 0;
}

}  // namespace weft::cuda
