// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reduction.h"

#include <algorithm>
#include <array>

#include "kernels/cpu/column_sums.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/cpu_backend.h"

namespace weft::cpu {

template <>
size_t CpuBackend::workspace(const SumRows& args) const {
  return static_cast<size_t>(threads_ * args.x.columns()) * size_of(args.out.dtype());
}

template <>
void CpuBackend::run(const SumRows& args, Scratch scratch) {
  with_float_type(args.x.dtype(), [&]<class T>() {
    using Acc = Accumulator<T>;
    sum_rows<T>(args, scratch.take<Acc>(threads_ * args.x.columns()), threads_);
  });
}

namespace {
constexpr int64_t kSumBlock = 16384;

// Keeps several sums side by side: a single sum would wait for each addition to finish.
template <bool kSquares, class T>
double sum_block(const T* x, int64_t n) {
  constexpr int64_t kLanes = 32;
  const auto term = [x](int64_t i) {
    const auto v = static_cast<double>(element_cast<Accumulator<T>>(x[i]));
    return kSquares ? v * v : v;
  };
  std::array<double, kLanes> sums{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int64_t l = 0; l < kLanes; ++l) sums[l] += term(i + l);
  }
  double sum = 0;
  for (; i < n; ++i) sum += term(i);
  for (const double s : sums) sum += s;
  return sum;
}

int64_t sum_blocks(const Tensor& x) { return (x.elements() + kSumBlock - 1) / kSumBlock; }

size_t sum_workspace(const Tensor& x) { return static_cast<size_t>(sum_blocks(x)) * sizeof(double); }

// The sum of x or of its squares. Blocks have a fixed length, so that the sum does not depend on the number of threads.
template <bool kSquares>
double sum(const Tensor& x, double* partial, int threads) {
  const int64_t n = x.elements(), blocks = sum_blocks(x);
  with_float_type(x.dtype(), [&]<class T>() {
    const T* from = x.device_data<T>();
    parallel_for(threads, blocks, 2, [=](int64_t first, int64_t last) {
      for (int64_t b = first; b < last; ++b) {
        const int64_t at = b * kSumBlock;
        partial[b] = sum_block<kSquares>(from + at, std::min(n - at, kSumBlock));
      }
    });
  });
  double total = 0;
  for (int64_t b = 0; b < blocks; ++b) total += partial[b];
  return total;
}

}  // namespace

template <>
size_t CpuBackend::workspace(const SumAll& args) const {
  return sum_workspace(args.x);
}

template <>
void CpuBackend::run(const SumAll& args, Scratch scratch) {
  const double total = sum<false>(args.x, scratch.take<double>(sum_blocks(args.x)), threads_);
  double& out = *args.out.device_data<double>();
  out = args.mode == Accumulate::Add ? out + total : total;
}

template <>
size_t CpuBackend::workspace(const SquareSum& args) const {
  size_t most = 0;
  for (const Tensor& part : args.parts) most = std::max(most, sum_workspace(part));
  return most;
}

template <>
void CpuBackend::run(const SquareSum& args, Scratch scratch) {
  double& out = *args.out.device_data<double>();
  double total = args.mode == Accumulate::Add ? out : 0;
  auto* partial = scratch.take<double>(static_cast<int64_t>(workspace(args) / sizeof(double)));
  for (const Tensor& part : args.parts) total += sum<true>(part, partial, threads_);
  out = total;
}

}  // namespace weft::cpu
