// SPDX-License-Identifier: Apache-2.0
// Shared by tests of the simulated libraries: calls that must succeed, device memory with values, reports.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "simulator/runtime/simulator.h"

namespace weft::cuda_device {

inline void ok(cudaError_t error) { ASSERT_EQ(error, cudaSuccess) << cudaGetErrorString(error); }

inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}
inline cudaEvent_t new_event() {
  cudaEvent_t event = nullptr;
  ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

template <class T>
struct OnDevice {
  T* p = nullptr;
  size_t count;
  explicit OnDevice(size_t n) : count(n) { ok(cudaMalloc(reinterpret_cast<void**>(&p), n * sizeof(T))); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    ok(cudaMemcpy(p, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(p); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  size_t bytes() const { return count * sizeof(T); }
  std::vector<T> on_host() const {
    std::vector<T> values(count);
    ok(cudaMemcpy(values.data(), p, bytes(), cudaMemcpyDeviceToHost));
    return values;
  }
};
struct Pinned {
  char* p = nullptr;
  explicit Pinned(size_t bytes) { ok(cudaMallocHost(reinterpret_cast<void**>(&p), bytes)); }
  ~Pinned() { cudaFreeHost(p); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// Reports are collected, and a test that leaves any behind fails.
class DeviceTest : public testing::Test {
 protected:
  DeviceTest() { simulator().reports.set_policy(Reports::Policy::Collect); }
  void TearDown() override {
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(reported(), "");
  }
  // All that was reported since the last time, one a line.
  std::string reported() {
    std::string text;
    for (const Report& report : simulator().reports.all()) text += report.sentence + "\n";
    simulator().reports.clear();
    return text;
  }
};

}  // namespace weft::cuda_device
