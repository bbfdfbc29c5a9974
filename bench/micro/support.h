// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/context.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"

#ifdef _OPENMP
#include <omp.h>
#endif

// Helpers shared by the benchmarks of operations. Rates are per second of wall time; on a machine shared with others
// set WEFT_BENCH_CPU_TIME=1 and OMP_NUM_THREADS=1 to count the time that the thread really ran.
namespace weft::bench {

inline int threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

inline Context& context() {
  static Context shared({}, threads());
  return shared;
}

// Small numbers that differ, so that no product overflows or meets denormals.
inline Tensor tensor(Shape shape, DType dtype) {
  std::vector<float> numbers(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(static_cast<int>(i % 17) - 8) * 0.01f;
  const Tensor t = to_device(context(), std::span<const float>(numbers)).view(shape);
  if (dtype == DType::F32) return t;
  const Tensor out = context().empty(shape, dtype);
  convert(context(), t, out);
  return out;
}

inline Tensor integers(const std::vector<int32_t>& values) {
  return to_device(context(), std::span<const int32_t>(values));
}

template <class Body>
void rate(benchmark::State& state, const char* unit, double amount, Body&& body) {
  body();
  for (auto _ : state) body();
  state.counters[unit] = benchmark::Counter(amount * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

template <class F>
void add(const std::string& name, F&& body) {
  auto* b = benchmark::RegisterBenchmark(name.c_str(), std::forward<F>(body))->Unit(benchmark::kMillisecond);
  if (!std::getenv("WEFT_BENCH_CPU_TIME")) b->UseRealTime();
}

inline int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace weft::bench
