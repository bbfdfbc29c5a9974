// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/runtime/launch.h"
#include "kernels/cuda/tuning.h"

// How blocks work on the rows of a matrix: several rows at a time, each by neighbouring threads of whole warps
// (threadIdx.x; threadIdx.y is the row), a piece of N elements for each thread. Threads take rows that have more pieces
// than a block has threads in steps.
namespace weft::cuda {

using tuning::kRowThreads;
constexpr int kRowWarps = kRowThreads / kWarp;

struct RowBlock {
  dim3 block;
  bool once;  // no thread has two pieces of a row: what it read can stay in registers
};

// `threads`: the threads of a block, unless one row needs more.
inline RowBlock row_block(int64_t width, int piece, int threads = tuning::kRowBlockThreads) {
  const int64_t pieces = (width + piece - 1) / piece;
  const int64_t of_row = std::clamp<int64_t>((pieces + kWarp - 1) / kWarp * kWarp, kWarp, kRowThreads);
  const auto rows = static_cast<unsigned>(std::max<int64_t>(1, threads / of_row));
  return {dim3(static_cast<unsigned>(of_row), std::bit_floor(rows)), pieces <= of_row};
}

// Calls f.template operator()<kAligned, kOnce>(). Rows that cannot be read by vectors are few and small: they have no
// form that keeps pieces in registers.
template <class F>
void with_row_form(bool aligned, bool once, F&& f) {
  if (aligned && once) return f.template operator()<true, true>();
  if (aligned) return f.template operator()<true, false>();
  f.template operator()<false, false>();
}

// Calls body(first element) for each piece of this thread. Whole warps call it together, also beyond the row's end.
template <bool kOnce, int N, class Body>
__device__ inline void for_pieces(int width, Body&& body) {
  if constexpr (kOnce) {
    body(static_cast<int>(threadIdx.x) * N);
  } else {
    const int step = static_cast<int>(blockDim.x) * N;
    for (int begin = 0; begin < width; begin += step) body(begin + static_cast<int>(threadIdx.x) * N);
  }
}

// How many of a row's `columns` elements are at or behind `first`, where a piece begins. Rows that can be read by
// vectors consist of whole pieces, and the compiler then leaves out what reads the rest of one. Not for f32 beside
// bf16: there a neighbour has half of each piece.
template <bool kAligned, int N>
__device__ inline int left_from(int first, int columns) {
  if constexpr (kAligned) return first < columns ? N : 0;
  return columns - first;
}

// Reduces x over the threads of each row, in an order that the number of threads fixes; every thread of the row gets
// the result. All threads of the block call it. `words`: one for each warp of the block, which no warp may still read
// from an earlier call: calls take turns between two arrays.
template <class T, class Operation>
__device__ inline T row_reduce(T x, T* words, Operation&& operation) {
  x = warp_reduce(x, operation);
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  if (warps == 1) return x;
  T* const mine = words + threadIdx.y * warps;
  if (threadIdx.x % kWarp == 0) mine[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = mine[0];
#pragma unroll 2
  for (int w = 1; w < warps; ++w) x = operation(x, mine[w]);
  return x;
}

template <class T>
__device__ inline T row_sum(T x, T* words) {
  return row_reduce(x, words, [](T a, T b) { return a + b; });
}

// Adds up two numbers over the lanes of a warp, each in half of them: the first half gets the sum of a, the second
// that of b. That takes half as many exchanges as two sums.
__device__ inline float warp_sums(float a, float b) {
  constexpr int kHalf = kWarp / 2;
  const bool second = threadIdx.x % kWarp >= kHalf;
  float mine = (second ? b : a) + __shfl_xor_sync(kAllLanes, second ? a : b, kHalf);
#pragma unroll
  for (int distance = kHalf / 2; distance > 0; distance /= 2) mine += __shfl_xor_sync(kAllLanes, mine, distance);
  return mine;
}

// row_sum() of two numbers at once.
__device__ inline void row_sums(float& a, float& b, float2* words) {
  const float sum = warp_sums(a, b);
  const int warps = static_cast<int>(blockDim.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  if (warps == 1) {
    a = __shfl_sync(kAllLanes, sum, 0), b = __shfl_sync(kAllLanes, sum, kWarp / 2);
    return;
  }
  float2* const mine = words + threadIdx.y * warps;
  if (lane == 0) mine[threadIdx.x / kWarp].x = sum;
  if (lane == kWarp / 2) mine[threadIdx.x / kWarp].y = sum;
  __syncthreads();
  a = 0, b = 0;
#pragma unroll 4
  for (int w = 0; w < warps; ++w) a += mine[w].x, b += mine[w].y;
}

// Adds x of the block's other rows to x of the first row's threads, row after row. `words`: N for each thread of the
// block; neighbours' words lie side by side.
template <int N>
__device__ inline void sum_over_rows(float (&x)[N], float* words) {
  const int threads = static_cast<int>(blockDim.x);
  if (blockDim.y == 1) return;
  float* const mine = words + static_cast<int>(threadIdx.y) * N * threads + threadIdx.x;
  __syncthreads();  // an earlier call's words have been read
#pragma unroll
  for (int i = 0; i < N; ++i) mine[i * threads] = x[i];
  __syncthreads();
  if (threadIdx.y != 0) return;
  for (int row = 1; row < static_cast<int>(blockDim.y); ++row) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] += words[(row * N + i) * threads + threadIdx.x];
  }
}

}  // namespace weft::cuda
