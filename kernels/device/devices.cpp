// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/devices.h"

#include <cstdlib>

#include "base/error.h"
#include "kernels/backend/backend.h"
#include "kernels/context.h"

namespace weft {

void load_kernels_with_the_device() { setenv("CUDA_MODULE_LOADING", "EAGER", 0); }

Device choose_device(DeviceChoice choice) {
  if (choice == DeviceChoice::Cpu) return {};
  const CudaDevices found = cuda_devices();
  if (!found.names.empty()) return {DeviceKind::Cuda, 0};
  if (choice == DeviceChoice::Auto) return {};
  throw ConfigError(fmt::format("device: cuda, but there is no CUDA device: {}", found.why_none),
                    found.built ? "`weft doctor` shows what this process sees; device: cpu computes without one"
                                : "rebuild weft with -DWEFT_CUDA=ON (docs/installation.md), or set device to cpu");
}

std::string describe_device(const Device& device, DeviceChoice choice) {
  const CudaDevices found = cuda_devices();
  if (device.kind == DeviceKind::Cuda) return found.names.at(device.index);
  const bool sought = choice == DeviceChoice::Auto && found.names.empty();
  return sought ? fmt::format("CPU (no CUDA device: {})", found.why_none) : "CPU";
}

std::unique_ptr<Context> plan_for_cuda(int threads) {
  return std::make_unique<Context>(threads, make_planned_cuda_backend(), true);
}

}  // namespace weft
