// SPDX-License-Identifier: Apache-2.0
// For tests of device code that link with CUDA's own runtime: the cost of launches, if they ran on the simulated
// device.
#pragma once

#include <dlfcn.h>

#include <optional>

#include "simulator/machine/counters.h"

extern "C" void weft_cuda_device_take_counters(weft::cuda_device::Counters* to);

namespace weft::cuda_device {

// The counters of all launches since the last call (the caller waits for its streams first); nullopt if the process
// does not run on the simulated device.
inline std::optional<Counters> take_counters() {
  void* found = dlsym(RTLD_DEFAULT, "weft_cuda_device_take_counters");
  if (!found) return std::nullopt;
  Counters counters;
  reinterpret_cast<decltype(&weft_cuda_device_take_counters)>(found)(&counters);
  return counters;
}

}  // namespace weft::cuda_device
