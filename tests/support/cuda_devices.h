// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <string>

#include "kernels/device/devices.h"

namespace weft::test {

// Why a test of several devices is left out here, for GTEST_SKIP(): empty where the machine has as many. The simulated
// device has as many as its tests set.
inline std::string lacks_devices(int needed) {
  const size_t seen = cuda_devices().names.size();
  return seen >= static_cast<size_t>(needed) ? ""
                                             : fmt::format("it needs {} CUDA devices and there are {}", needed, seen);
}

// Why a test that reads the simulated device's clock, memory or counters is left out here: empty on that device.
inline std::string lacks_simulation() {
  const CudaDevices devices = cuda_devices();
  const bool simulated = !devices.names.empty() && devices.names.front().find("simulated") != std::string::npos;
  return simulated ? "" : "it reads what only the simulated device tells";
}

}  // namespace weft::test
