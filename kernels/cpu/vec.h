// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/dtype.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace weft::cpu {

// Short vectors of the compiler's own type, for loops that must not depend on the compiler's judgement: sums, whose
// order is part of the result, and tiles that live in registers. The width is the processor's.
#if defined(__AVX512F__)
inline constexpr int64_t kVecBytes = 64;
#elif defined(__AVX__)
inline constexpr int64_t kVecBytes = 32;
#else
inline constexpr int64_t kVecBytes = 16;
#endif

template <class A>
inline constexpr int64_t kVecLanes = kVecBytes / static_cast<int64_t>(sizeof(A));

namespace vec_detail {
using Floats [[gnu::vector_size(kVecBytes)]] = float;
using Doubles [[gnu::vector_size(kVecBytes)]] = double;
}  // namespace vec_detail

template <class A>
using Vec = std::conditional_t<std::is_same_v<A, double>, vec_detail::Doubles, vec_detail::Floats>;

template <class A>
inline Vec<A> load(const A* from) {
  Vec<A> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class A>
inline void store(A* to, Vec<A> v) {
  std::memcpy(to, &v, sizeof v);
}

namespace vec_detail {

template <class A>
inline constexpr auto kLaneIndices = std::make_integer_sequence<int, static_cast<int>(kVecLanes<A>)>{};

// Lane i of the result is lane i ^ Distance of v.
template <class A, int Distance, int... I>
inline Vec<A> swapped(Vec<A> v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, (I ^ Distance)...);
}

template <class A, int Distance, class F>
inline Vec<A> fold(Vec<A> v, F&& f) {
  if constexpr (Distance == 0) {
    return v;
  } else {
    return fold<A, Distance / 2>(f(v, swapped<A, Distance>(v, kLaneIndices<A>)), f);
  }
}

template <class A, class Mask, int... I>
inline Mask lanes_below(int64_t count, std::integer_sequence<int, I...>) {
  return Mask{I...} < static_cast<std::conditional_t<std::is_same_v<A, double>, int64_t, int32_t>>(count);
}

}  // namespace vec_detail

// The sum of the lanes, by halves.
template <class A>
inline A sum_of(Vec<A> v) {
  return vec_detail::fold<A, kVecLanes<A> / 2>(v, [](Vec<A> a, Vec<A> b) { return a + b; })[0];
}

template <class A>
inline A max_of(Vec<A> v) {
  return vec_detail::fold<A, kVecLanes<A> / 2>(v, [](Vec<A> a, Vec<A> b) { return a < b ? b : a; })[0];
}

// v in the first `count` lanes, `other` in the rest.
template <class A>
inline Vec<A> first_lanes(Vec<A> v, int64_t count, Vec<A> other = Vec<A>{}) {
  return vec_detail::lanes_below<A, decltype(v < v)>(count, vec_detail::kLaneIndices<A>) ? v : other;
}

// f of every lane. A loop of this length over f compiles to vector code.
template <class A, class F>
inline Vec<A> each_lane(Vec<A> v, F&& f) {
  A lanes[kVecLanes<A>];
  store(lanes, v);
  for (int64_t i = 0; i < kVecLanes<A>; ++i) lanes[i] = f(lanes[i]);
  return load(lanes);
}

namespace vec_detail {
using Words [[gnu::vector_size(kVecBytes)]] = uint32_t;
using Halves [[gnu::vector_size(kVecBytes / 2)]] = uint16_t;
}  // namespace vec_detail

// Loads a whole vector of a compute dtype T as its accumulator type A.
template <class A, class T>
inline Vec<A> load_cast(const T* from) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    vec_detail::Halves bits;
    std::memcpy(&bits, from, sizeof bits);
    return reinterpret_cast<Vec<A>>(__builtin_convertvector(bits, vec_detail::Words) << 16);
  } else {
    return load(from);
  }
}

// Loads a whole vector of small integers as floats. The compiler's own conversion from bytes takes them one by one.
inline Vec<float> load_small(const int8_t* from) {
#if defined(__AVX512F__)
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  float lanes[kVecLanes<float>];
  for (int64_t i = 0; i < kVecLanes<float>; ++i) lanes[i] = static_cast<float>(from[i]);
  return load(lanes);
#endif
}

// Rounds to T as BFloat16's constructor does: to nearest even, NaN stays NaN.
template <class A, class T>
inline void store_cast(T* to, Vec<A> v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto word = reinterpret_cast<vec_detail::Words>(v);
    const vec_detail::Words rounded = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
    const vec_detail::Words quiet = word >> 16 | 0x40u;
    const auto bits = __builtin_convertvector(v == v ? rounded : quiet, vec_detail::Halves);
    std::memcpy(static_cast<void*>(to), &bits, sizeof bits);
  } else {
    store(to, v);
  }
}

// Load and store the first `count` elements, at most a whole vector; zeros follow the loaded ones.
template <class A, class T>
inline Vec<A> load_cast(const T* from, int64_t count) {
  if (count >= kVecLanes<A>) return load_cast<A>(from);
  T lanes[kVecLanes<A>] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load_cast<A>(lanes);
}

template <class A, class T>
inline void store_cast(T* to, Vec<A> v, int64_t count) {
  if (count >= kVecLanes<A>) return store_cast<A>(to, v);
  T lanes[kVecLanes<A>];
  store_cast<A>(lanes, v);
  for (int64_t i = 0; i < count; ++i) to[i] = lanes[i];
}

template <class A>
constexpr int64_t padded(int64_t n) {
  return (n + kVecLanes<A> - 1) / kVecLanes<A> * kVecLanes<A>;
}

}  // namespace weft::cpu
