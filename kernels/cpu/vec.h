#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weft::cpu {

// Short vectors as the compiler's own type, where a loop must not be left to the compiler's judgement: sums, whose
// order is part of the result, and tiles that live in registers. The width is the processor's.
#ifdef __AVX512F__
inline constexpr int64_t kVecBytes = 64;
#else
inline constexpr int64_t kVecBytes = 32;
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
inline __attribute__((always_inline)) Vec<A> load(const A* from) {
  Vec<A> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class A>
inline __attribute__((always_inline)) void store(A* to, Vec<A> v) {
  std::memcpy(to, &v, sizeof v);
}

// The sum of the lanes, by halves.
template <class A>
inline __attribute__((always_inline)) A sum_of(Vec<A> v) {
  A lanes[kVecLanes<A>];
  std::memcpy(lanes, &v, sizeof v);
  for (int64_t half = kVecLanes<A> / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

template <class A>
inline __attribute__((always_inline)) A max_of(Vec<A> v) {
  A lanes[kVecLanes<A>];
  std::memcpy(lanes, &v, sizeof v);
  for (int64_t half = kVecLanes<A> / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) lanes[i] = lanes[i] < lanes[i + half] ? lanes[i + half] : lanes[i];
  }
  return lanes[0];
}

template <class A>
constexpr int64_t padded(int64_t n) {
  return (n + kVecLanes<A> - 1) / kVecLanes<A> * kVecLanes<A>;
}

}  // namespace weft::cpu
