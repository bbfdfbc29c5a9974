// SPDX-License-Identifier: Apache-2.0
#include "kernels/formulas/fixed_point.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

// The facts of a parameter, which threads add to in any order: integers give the same.
class SharedFacts {
 public:
  explicit SharedFacts(const Tensor& facts) : facts_(facts.device_data<int64_t>()) {}

  void add(FixedPointFact fact, int64_t sum) const { at(fact).fetch_add(sum, std::memory_order_relaxed); }
  void unite(int64_t flags) const { at(kFactFlags).fetch_or(flags, std::memory_order_relaxed); }
  void raise(int64_t greatest) const {
    const auto kept = at(kFactGreatest);
    int64_t known = kept.load(std::memory_order_relaxed);
    while (known < greatest && !kept.compare_exchange_weak(known, greatest, std::memory_order_relaxed)) continue;
  }

 private:
  std::atomic_ref<int64_t> at(FixedPointFact fact) const { return std::atomic_ref(facts_[fact]); }

  int64_t* facts_;
};

// The flags of a run of elements, whose integers it writes or adds.
template <bool kLow, bool kAdd>
int64_t to_run(const float* x, double scale, int64_t* high, int64_t* low, int64_t elements) {
  int64_t flags = 0;
#pragma omp simd reduction(| : flags)
  for (int64_t i = 0; i < elements; ++i) {
    const formulas::FixedPoint point = formulas::fixed_point<kLow>(x[i], scale);
    high[i] = kAdd ? high[i] + point.high : point.high;
    if constexpr (kLow) low[i] = kAdd ? low[i] + point.low : point.low;
    flags |= point.flags;
  }
  return flags;
}

template <bool kLow, bool kAdd>
void to_fixed_point(const ToFixedPoint& args, int threads) {
  const float* const x = args.x.device_data<float>();
  int64_t* const high = args.high.device_data<int64_t>();
  int64_t* const low = kLow ? args.low.device_data<int64_t>() : nullptr;
  const double scale = formulas::power_of_two(*args.exponent.device_data<int32_t>());
  const SharedFacts facts(args.facts);
  parallel_for(threads, args.x.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
    facts.unite(to_run<kLow, kAdd>(x + begin, scale, high + begin, kLow ? low + begin : nullptr, end - begin));
  });
}

// What a run of elements adds to the facts.
struct RunFacts {
  int64_t squares_high = 0, squares_low = 0;
  float greatest = 0;
  int32_t flags = 0;

  void add(const RunFacts& other) {
    squares_high += other.squares_high, squares_low += other.squares_low;
    greatest = std::max(greatest, other.greatest);
    flags |= other.flags;
  }
};

// Any sums.
template <bool kLow, bool kCounted>
RunFacts from_run(const int64_t* high, const int64_t* low, double scale, float* out, int64_t elements) {
  int64_t squares_high = 0, squares_low = 0;
  int32_t greatest = 0, flags = 0;
#pragma omp simd reduction(+ : squares_high, squares_low) reduction(max : greatest) reduction(| : flags)
  for (int64_t i = 0; i < elements; ++i) {
    const auto element = formulas::from_fixed_point<kLow, kCounted>(high[i], kLow ? low[i] : int64_t{0}, scale, out[i]);
    squares_high += element.squares_high, squares_low += element.squares_low;
    greatest = std::max(greatest, element.size);
    flags |= element.flags;
  }
  return {squares_high, squares_low, std::bit_cast<float>(greatest), flags};
}

// Sums below 2^50 units, as nearly all are: the same results, in half the time.
constexpr int64_t kSmall = int64_t{1} << 50;
template <bool kLow, bool kCounted>
RunFacts from_small_run(const int64_t* high, const int64_t* low, double scale, float* out, int64_t elements) {
  int64_t squares_high = 0, squares_low = 0;
  float greatest = 0;
#pragma omp simd reduction(+ : squares_high, squares_low) reduction(max : greatest)
  for (int64_t i = 0; i < elements; ++i) {
    double units = std::bit_cast<double>(high[i] + formulas::Rounded::kMiddleBits) - formulas::Rounded::kMiddle;
    if constexpr (kLow) units += formulas::nearest_double(low[i]) * (1 / formulas::kLowParts);
    out[i] = static_cast<float>(units * scale);
    greatest = std::max(greatest, std::abs(out[i]));
    if constexpr (kCounted) {
      const double square = units * units * formulas::kSquareUnit;
      const formulas::Rounded rounded(square);
      squares_high += rounded.integer();
      squares_low += formulas::Rounded((square - rounded.value()) * formulas::kSquareLowParts).integer();
    }
  }
  return {squares_high, squares_low, greatest, 0};
}

bool all_small(const int64_t* high, int64_t elements) {
  uint64_t any = 0;
#pragma omp simd reduction(| : any)
  for (int64_t i = 0; i < elements; ++i) any |= static_cast<uint64_t>(high[i] + kSmall);
  return any < 2 * static_cast<uint64_t>(kSmall);
}

template <bool kLow, bool kCounted>
RunFacts from_any_run(const int64_t* high, const int64_t* low, double scale, float* out, int64_t elements) {
  const auto run = all_small(high, elements) ? from_small_run<kLow, kCounted> : from_run<kLow, kCounted>;
  return run(high, low, scale, out, elements);
}

// What a thread has found of its elements.
template <bool kCounted>
void tell(const SharedFacts& facts, const RunFacts& of) {
  if (kCounted) facts.add(kFactSquaresHigh, of.squares_high), facts.add(kFactSquaresLow, of.squares_low);
  facts.raise(std::bit_cast<int32_t>(of.greatest));
  facts.unite(of.flags);
}

constexpr int64_t kRun = 1024;  // the integers of a run stay in the nearest cache

template <bool kLow, bool kCounted>
void from_fixed_point(const FromFixedPoint& args, int threads) {
  const int64_t* const high = args.high.device_data<int64_t>();
  const int64_t* const low = kLow ? args.low.device_data<int64_t>() : nullptr;
  float* const out = args.out.device_data<float>();
  const double scale = formulas::power_of_two(-*args.exponent.device_data<int32_t>());
  const SharedFacts facts(args.facts);
  parallel_for(threads, args.out.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
    RunFacts all;
    for (int64_t i = begin; i < end; i += kRun) {
      all.add(
          from_any_run<kLow, kCounted>(high + i, kLow ? low + i : nullptr, scale, out + i, std::min(kRun, end - i)));
    }
    tell<kCounted>(facts, all);
  });
}

template <bool kLow, bool kCounted>
void sum_exactly(const SumExactly& args, int threads) {
  const float* const x = args.x.device_data<float>();
  float* const out = args.out.device_data<float>();
  const int32_t exponent = *args.exponent.device_data<int32_t>();
  const double scale = formulas::power_of_two(exponent), back = formulas::power_of_two(-exponent);
  const int64_t terms = args.terms, stride = args.stride;
  const SharedFacts facts(args.facts);
  parallel_for(threads, args.out.elements(), kElementGrain, [=](int64_t begin, int64_t end) {
    std::array<int64_t, kRun> high;
    std::array<int64_t, kLow ? kRun : 1> low;
    RunFacts all;
    int64_t flags = 0;
    for (int64_t i = begin; i < end; i += kRun) {
      const int64_t elements = std::min(kRun, end - i);
      flags |= to_run<kLow, false>(x + i, scale, high.data(), low.data(), elements);
      for (int64_t t = 1; t < terms; ++t) {
        flags |= to_run<kLow, true>(x + t * stride + i, scale, high.data(), low.data(), elements);
      }
      all.add(from_any_run<kLow, kCounted>(high.data(), low.data(), back, out + i, elements));
    }
    all.flags |= static_cast<int32_t>(flags);
    tell<kCounted>(facts, all);
  });
}

}  // namespace

template <>
void CpuBackend::run(const ToFixedPoint& args) {
  const bool add = args.mode == Accumulate::Add;
  if (args.low) return add ? to_fixed_point<true, true>(args, threads_) : to_fixed_point<true, false>(args, threads_);
  add ? to_fixed_point<false, true>(args, threads_) : to_fixed_point<false, false>(args, threads_);
}

template <>
void CpuBackend::run(const FromFixedPoint& args) {
  const bool counted = args.counted;
  if (args.low)
    return counted ? from_fixed_point<true, true>(args, threads_) : from_fixed_point<true, false>(args, threads_);
  counted ? from_fixed_point<false, true>(args, threads_) : from_fixed_point<false, false>(args, threads_);
}

template <>
void CpuBackend::run(const SumExactly& args) {
  const bool counted = args.counted;
  if (args.low) return counted ? sum_exactly<true, true>(args, threads_) : sum_exactly<true, false>(args, threads_);
  counted ? sum_exactly<false, true>(args, threads_) : sum_exactly<false, false>(args, threads_);
}

}  // namespace weft::cpu
