// SPDX-License-Identifier: Apache-2.0
#include "simulator/runtime/observe.h"

#include <mutex>
#include <utility>

#include "simulator/runtime/simulator.h"

void weft_cuda_device_take_counters(weft::cuda_device::Counters* to) {
  weft::cuda_device::Simulator& all = weft::cuda_device::simulator();
  const std::lock_guard lock(all.mutex);
  *to = std::exchange(all.counters, {});
}
