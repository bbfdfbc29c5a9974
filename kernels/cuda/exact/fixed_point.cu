// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/pieces.cuh"
#include "kernels/cuda/rows.cuh"
#include "kernels/cuda/runtime/types.h"
#include "kernels/cuda/tuning.h"
#include "kernels/cuda/vector.cuh"
#include "kernels/formulas/fixed_point.h"

namespace weft::cuda {
namespace {

constexpr int kThreads = tuning::kElementThreads;
constexpr int kPiece = kVector<int64_t>;  // of integers; the floats beside them are 8 bytes
constexpr int kBlock = kThreads * kPiece * tuning::kFixedPointPieces;

// As load_piece and store_piece (pieces.cuh), of pairs.
template <bool kAligned>
__device__ inline void load_pair(const int64_t* at, int64_t left, int64_t (&to)[kPiece]) {
  if (kAligned && left >= kPiece) {
    const auto pair = *reinterpret_cast<const longlong2*>(at);
    to[0] = pair.x, to[1] = pair.y;
    return;
  }
  for (int i = 0; i < kPiece; ++i) to[i] = i < left ? at[i] : 0;
}
template <bool kAligned>
__device__ inline void load_pair(const float* at, int64_t left, float (&to)[kPiece]) {
  if (kAligned && left >= kPiece) {
    const auto pair = *reinterpret_cast<const float2*>(at);
    to[0] = pair.x, to[1] = pair.y;
    return;
  }
  for (int i = 0; i < kPiece; ++i) to[i] = i < left ? at[i] : 0;
}
template <bool kAligned>
__device__ inline void store_pair(int64_t* at, int64_t left, const int64_t (&from)[kPiece]) {
  if (kAligned && left >= kPiece) {
    asm volatile("st.global.v2.b64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(at)), "l"(from[0]), "l"(from[1])
                 : "memory");
    return;
  }
  for (int i = 0; i < kPiece; ++i) {
    if (i < left) at[i] = from[i];
  }
}
template <bool kAligned>
__device__ inline void store_pair(float* at, int64_t left, const float (&from)[kPiece]) {
  if (kAligned && left >= kPiece) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(at)), "f"(from[0]), "f"(from[1])
                 : "memory");
    return;
  }
  for (int i = 0; i < kPiece; ++i) {
    if (i < left) at[i] = from[i];
  }
}

// Adds a block's part of a fact to those of the other blocks, in any order: integers give the same. Most blocks have
// nothing to say of flags.
__device__ inline void unite_flags(int64_t* facts, int flags) {
  if (threadIdx.x != 0 || flags == 0) return;
  atomicOr(reinterpret_cast<unsigned long long*>(facts + kFactFlags), static_cast<unsigned long long>(flags));
}
__device__ inline void add_fact(int64_t* facts, FixedPointFact fact, int64_t sum) {
  if (threadIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(facts + fact), static_cast<unsigned long long>(sum));
}
__device__ inline void raise_greatest(int64_t* facts, int greatest) {
  if (threadIdx.x == 0)
    atomicMax(reinterpret_cast<unsigned long long*>(facts + kFactGreatest), static_cast<unsigned long long>(greatest));
}

// high and low (if kLow) get integers, or are added to.
template <bool kAligned, bool kLow, bool kAdd>
__global__ void __launch_bounds__(kThreads) fixed_point_elements(const float* x, const int32_t* exponent, int64_t* high,
                                                                 int64_t* low, int64_t* facts, int64_t elements) {
  __shared__ int words[kThreads / kWarp];
  const double scale = formulas::power_of_two(*exponent);
  int flags = 0;
  for (int piece = 0; piece < tuning::kFixedPointPieces; ++piece) {
    const int64_t first = int64_t{blockIdx.x} * kBlock + (piece * kThreads + threadIdx.x) * kPiece;
    const int64_t left = elements - first;
    float from[kPiece];
    int64_t to_high[kPiece] = {}, to_low[kPiece] = {};
    load_pair<kAligned>(x + first, left, from);
    if constexpr (kAdd) load_pair<kAligned>(high + first, left, to_high);
    if constexpr (kAdd && kLow) load_pair<kAligned>(low + first, left, to_low);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      const formulas::FixedPoint point = formulas::fixed_point<kLow>(from[i], scale);
      to_high[i] += point.high, to_low[i] += point.low;
      flags |= static_cast<int>(point.flags);
    }
    store_pair<kAligned>(high + first, left, to_high);
    if constexpr (kLow) store_pair<kAligned>(low + first, left, to_low);
  }
  unite_flags(facts, row_reduce(flags, words, [](int a, int b) { return a | b; }));
}

// What a thread has found of its elements.
struct ThreadFacts {
  int64_t squares_high = 0, squares_low = 0;
  int greatest = 0, flags = 0;

  __device__ void add(const formulas::FixedPointFacts& element) {
    squares_high += element.squares_high, squares_low += element.squares_low;
    greatest = max(greatest, element.size);
    flags |= element.flags;
  }
};

// Adds what a block's threads have found.
template <bool kCounted>
__device__ inline void tell(int64_t* facts, const ThreadFacts& of) {
  __shared__ int64_t sums[2][kThreads / kWarp];
  __shared__ int words[2][kThreads / kWarp];
  const auto sum = [](int64_t a, int64_t b) { return a + b; };
  if constexpr (kCounted) {
    add_fact(facts, kFactSquaresHigh, row_reduce(of.squares_high, sums[0], sum));
    add_fact(facts, kFactSquaresLow, row_reduce(of.squares_low, sums[1], sum));
  }
  raise_greatest(facts, row_reduce(of.greatest, words[0], [](int a, int b) { return max(a, b); }));
  unite_flags(facts, row_reduce(of.flags, words[1], [](int a, int b) { return a | b; }));
}

template <bool kAligned, bool kLow, bool kCounted>
__global__ void __launch_bounds__(kThreads)
    elements_of_fixed_point(const int64_t* high, const int64_t* low, const int32_t* exponent, float* out,
                            int64_t* facts, int64_t elements) {
  const double scale = formulas::power_of_two(-*exponent);
  ThreadFacts found;
  for (int piece = 0; piece < tuning::kFixedPointPieces; ++piece) {
    const int64_t first = int64_t{blockIdx.x} * kBlock + (piece * kThreads + threadIdx.x) * kPiece;
    const int64_t left = elements - first;
    int64_t from_high[kPiece], from_low[kPiece] = {};
    float to[kPiece];
    load_pair<kAligned>(high + first, left, from_high);
    if constexpr (kLow) load_pair<kAligned>(low + first, left, from_low);
#pragma unroll
    for (int i = 0; i < kPiece; ++i) {
      found.add(formulas::from_fixed_point<kLow, kCounted>(from_high[i], from_low[i], scale, to[i]));
    }
    store_pair<kAligned>(out + first, left, to);
  }
  tell<kCounted>(facts, found);
}

constexpr int kTermPiece = kVector<float>;
constexpr int kTermPieces = kPiece * tuning::kFixedPointPieces / kTermPiece;  // of a thread: as many elements as above

// x: `terms` rows, `stride` apart; out may be the first.
template <bool kAligned, bool kLow, bool kCounted>
__global__ void __launch_bounds__(kThreads)
    exact_sums_of_rows(const float* x, int64_t terms, int64_t stride, const int32_t* exponent, float* out,
                       int64_t* facts, int64_t elements) {
  const double scale = formulas::power_of_two(*exponent), back = formulas::power_of_two(-*exponent);
  ThreadFacts found;
  for (int piece = 0; piece < kTermPieces; ++piece) {
    const int64_t first = int64_t{blockIdx.x} * kBlock + (piece * kThreads + threadIdx.x) * kTermPiece;
    const int64_t left = elements - first;
    int64_t high[kTermPiece] = {}, low[kTermPiece] = {};
    for (int64_t term = 0; term < terms; ++term) {
      float from[kTermPiece];
      load_piece<kAligned>(x + term * stride + first, left, from);
#pragma unroll
      for (int i = 0; i < kTermPiece; ++i) {
        const formulas::FixedPoint point = formulas::fixed_point<kLow>(from[i], scale);
        high[i] += point.high, low[i] += point.low;
        found.flags |= static_cast<int>(point.flags);
      }
    }
    float to[kTermPiece];
#pragma unroll
    for (int i = 0; i < kTermPiece; ++i) {
      found.add(formulas::from_fixed_point<kLow, kCounted>(high[i], low[i], back, to[i]));
    }
    store_piece<kAligned>(out + first, left, to);
  }
  tell<kCounted>(facts, found);
}

// Whether pairs of f32 and of i64 can be read at once; an absent tensor can.
bool on_pairs(const float* p) { return reinterpret_cast<uintptr_t>(p) % 8 == 0; }
bool on_pairs(const int64_t* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// Calls f.template operator()<...>() with the flags as template arguments.
template <bool... kFlags, class F>
void with_flags(F&& f) {
  f.template operator()<kFlags...>();
}
template <bool... kFlags, class F, class... Flags>
void with_flags(F&& f, bool flag, Flags... flags) {
  flag ? with_flags<kFlags..., true>(f, flags...) : with_flags<kFlags..., false>(f, flags...);
}

}  // namespace

template <>
void CudaBackend::run(const ToFixedPoint& args) {
  const float* const x = args.x.device_data<float>();
  int64_t *const high = args.high.device_data<int64_t>(), *const low = elements_of<int64_t>(args.low);
  const int64_t n = args.x.elements();
  with_flags(
      [&]<bool kAligned, bool kLow, bool kAdd>() {
        launch(stream(), fixed_point_elements<kAligned, kLow, kAdd>, blocks_for(n, kBlock), kThreads, 0, x,
               args.exponent.device_data<int32_t>(), high, low, args.facts.device_data<int64_t>(), n);
      },
      on_pairs(x) && on_pairs(high) && on_pairs(low), static_cast<bool>(args.low), args.mode == Accumulate::Add);
}

template <>
void CudaBackend::run(const FromFixedPoint& args) {
  const int64_t *const high = args.high.device_data<int64_t>(), *const low = elements_of<int64_t>(args.low);
  float* const out = args.out.device_data<float>();
  const int64_t n = args.out.elements();
  with_flags(
      [&]<bool kAligned, bool kLow, bool kCounted>() {
        launch(stream(), elements_of_fixed_point<kAligned, kLow, kCounted>, blocks_for(n, kBlock), kThreads, 0, high,
               low, args.exponent.device_data<int32_t>(), out, args.facts.device_data<int64_t>(), n);
      },
      on_pairs(out) && on_pairs(high) && on_pairs(low), static_cast<bool>(args.low), args.counted);
}

template <>
void CudaBackend::run(const SumExactly& args) {
  const float* const x = args.x.device_data<float>();
  float* const out = args.out.device_data<float>();
  const int64_t n = args.out.elements();
  with_flags(
      [&]<bool kAligned, bool kLow, bool kCounted>() {
        launch(stream(), exact_sums_of_rows<kAligned, kLow, kCounted>, blocks_for(n, kBlock), kThreads, 0, x,
               args.terms, args.stride, args.exponent.device_data<int32_t>(), out, args.facts.device_data<int64_t>(),
               n);
      },
      vectorised(x, args.stride) && vectorised(out, args.stride), args.low, args.counted);
}

}  // namespace weft::cuda
