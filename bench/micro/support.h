#pragma once
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "kernels/context.h"
#include "kernels/elementwise.h"

#ifdef _OPENMP
#include <omp.h>
#endif

// What the benchmarks of operations share. Rates are per second of wall time; on a machine shared with others set
// WEFT_BENCH_CPU_TIME=1 and OMP_NUM_THREADS=1 to count the time that the thread really ran.
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
  const Tensor t = context().empty(shape, DType::F32);
  for (int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = static_cast<float>(i % 17 - 8) * 0.01f;
  if (dtype == DType::F32) return t;
  const Tensor out = context().empty(shape, dtype);
  convert(context(), t, out);
  return out;
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
