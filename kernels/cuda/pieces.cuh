// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/cuda/vector.cuh"

// How the threads of a warp read and write neighbouring pieces of a row (or of a flat buffer), N elements each, as
// floats. A thread's piece begins at `at`, and the row has `left` elements from there: elements beyond are read as 0
// and not written. A whole warp calls these together; threads 2 i and 2 i + 1 have neighbouring pieces.
//
// Which element belongs to which thread does not depend on the alignment, so neither do the bits of any sum: if a row
// does not begin on a multiple of 16 bytes, the same elements are read one by one (kAligned false).
namespace weft::cuda {

namespace pieces {

// Loads 4 floats.
__device__ inline void load_quarter(const float* at, int64_t left, float* to) {
  if (left >= 4) {
    float v[4];
    load_vector(at, v);
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = v[i];
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) to[i] = i < left ? at[i] : 0.0f;
  }
}
__device__ inline void store_quarter(float* at, int64_t left, const float* from) {
  if (left >= 4) {
    store_vector(at, {from[0], from[1], from[2], from[3]});
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i < left) at[i] = from[i];
    }
  }
}

// Beside a bf16 row, whose 16 bytes are 8 elements, a thread needs 32 bytes of an f32 row. Two requests of its own
// would each fetch every other half of a 32-byte sector. Instead two neighbours read the even one's 32 bytes together,
// then the odd one's, and exchange. Offsets are from the thread's own piece.
__device__ inline bool odd_lane() { return threadIdx.x % 2 != 0; }
__device__ inline int first_offset() { return odd_lane() ? -4 : 0; }
__device__ inline int second_offset() { return odd_lane() ? 4 : 8; }

// x: the quarters at first_offset() and second_offset(), of which one belongs to the neighbour; afterwards the thread's
// own two in their order. It is its own inverse.
__device__ inline void exchange(float (&x)[8]) {
  const bool odd = odd_lane();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float got = __shfl_xor_sync(kAllLanes, odd ? x[i] : x[4 + i], 1);
    x[i] = odd ? got : x[i];
    x[4 + i] = odd ? x[4 + i] : got;
  }
}

}  // namespace pieces

template <bool kAligned, int N, class T>
__device__ inline void load_piece(const T* at, int64_t left, float (&to)[N]) {
  if constexpr (!kAligned) {
#pragma unroll
    for (int i = 0; i < N; ++i) to[i] = i < left ? to_float(at[i]) : 0.0f;
  } else if constexpr (N == 8 && sizeof(T) == 4) {
    using namespace pieces;
    load_quarter(at + first_offset(), left - first_offset(), to);
    load_quarter(at + second_offset(), left - second_offset(), to + 4);
    exchange(to);
  } else {
    static_assert(N == kVector<T>);
    if (left >= N) {
      load_vector(at, to);
    } else {
      load_piece<false>(at, left, to);
    }
  }
}

template <bool kAligned, int N, class T>
__device__ inline void store_piece(T* at, int64_t left, const float (&from)[N]) {
  if constexpr (!kAligned) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i < left) at[i] = from_float<T>(from[i]);
    }
  } else if constexpr (N == 8 && sizeof(T) == 4) {
    using namespace pieces;
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = from[i];
    exchange(x);
    store_quarter(at + first_offset(), left - first_offset(), x);
    store_quarter(at + second_offset(), left - second_offset(), x + 4);
  } else if (left < N) {
    store_piece<false>(at, left, from);
  } else if constexpr (N == kVector<T>) {
    store_vector(at, from);
  } else {
    static_assert(N == 4 && sizeof(T) == 2);  // bf16 beside f32 pieces that are not exchanged
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(at)),
                 "r"(bf16_pair(from[0], from[1])), "r"(bf16_pair(from[2], from[3]))
                 : "memory");
  }
}

// N neighbouring elements, all inside the row: a vector, or N is 1.
template <int N, class T>
__device__ inline void load_whole(const T* at, float (&to)[N]) {
  load_piece<(N > 1)>(at, N, to);
}
template <int N, class T>
__device__ inline void store_whole(T* at, const float (&from)[N]) {
  store_piece<(N > 1)>(at, N, from);
}

}  // namespace weft::cuda
