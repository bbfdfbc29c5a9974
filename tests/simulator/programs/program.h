// SPDX-License-Identifier: Apache-2.0
// Shared by the programs: each is ordinary CUDA C++, without any reference to the simulator. It runs one case, named by
// its argument, checks its own numbers and ends with status 0, or prints what was wrong and ends with 1.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(1);
}
inline void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}
inline void expect_near(double got, double want, double tolerance, const char* what) {
  if (std::abs(got - want) <= tolerance) return;  // false for NaN
  std::printf("wrong: %s is %g instead of %g\n", what, got, want);
  std::exit(1);
}

inline cudaStream_t new_stream() {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
inline cudaEvent_t new_event() {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}
template <class T>
T* on_device(const std::vector<T>& values) {
  T* p;
  check(cudaMalloc(&p, values.size() * sizeof(T)));
  check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}
template <class T>
std::vector<T> on_host(const T* p, size_t count) {
  std::vector<T> values(count);
  check(cudaMemcpy(values.data(), p, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
// Random values from -1 to 1, multiples of 1/128, the same in every run: sums of a few are exact.
inline std::vector<float> draws(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 24) - 128) / 128;
  }
  return values;
}
