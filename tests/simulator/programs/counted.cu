// SPDX-License-Identifier: Apache-2.0
// A test of device code asks for the costs of its launches: here of copies of 4 and of 16 bytes a lane.
#include "simulator/runtime/observe.h"
#include "tests/simulator/programs/program.h"

namespace {

using weft::cuda_device::Counters;
using weft::cuda_device::Traffic;

constexpr int kCount = 4096;

template <class T>
__global__ void copy(const T* from, T* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[i];
}

template <class T>
Counters cost_of_copy(const float* from, float* to) {
  weft::cuda_device::take_counters();
  copy<<<kCount * sizeof(float) / sizeof(T) / 128, 128>>>(reinterpret_cast<const T*>(from), reinterpret_cast<T*>(to));
  check(cudaDeviceSynchronize());
  return *weft::cuda_device::take_counters();
}

void expect_only(const std::array<Traffic, 5>& traffic, size_t width) {
  for (size_t k = 0; k < traffic.size(); ++k) {
    const bool here = Counters::kWidths[k] == width;
    expect(traffic[k].requests == (here ? kCount * sizeof(float) / width / 32 : 0), "the number of requests");
    expect(traffic[k].sectors == (here ? kCount * sizeof(float) / 32 : 0), "the number of sectors");
    expect(traffic[k].wanted_bytes == (here ? kCount * sizeof(float) : 0), "the number of wanted bytes");
  }
}

}  // namespace

int main() {
  const float* from = on_device(draws(kCount, 1));
  float* to = on_device(std::vector<float>(kCount));
  if (!weft::cuda_device::take_counters()) return 1;
  const Counters narrow = cost_of_copy<float>(from, to), wide = cost_of_copy<float4>(from, to);
  expect(narrow.launches == 1 && wide.launches == 1, "the number of launches");
  expect_only(narrow.loads, 4);
  expect_only(narrow.stores, 4);
  expect_only(wide.loads, 16);
  expect_only(wide.stores, 16);
  expect(on_host(to, kCount) == draws(kCount, 1), "the copy");
  return 0;
}
