#include "kernels/devices.h"

#include "base/error.h"

namespace weft {

Device choose_device(DeviceChoice choice, int rank, int ranks) {
  if (choice == DeviceChoice::Cpu) return {};
  const CudaDevices found = cuda_devices();
  const auto devices = static_cast<int>(found.names.size());
  if (devices == 0) {
    if (choice == DeviceChoice::Auto) return {};
    throw ConfigError(fmt::format("device: cuda, but there is no CUDA device: {}", found.why_none),
                      found.built ? "`weft doctor` shows what this process sees; device: cpu computes without one"
                                  : "build weft where nvcc is (docs/installation.md), or set device to cpu");
  }
  if (devices >= ranks) return {DeviceKind::Cuda, rank};
  // Launchers that give each rank one device show it nothing else.
  if (devices == 1) return {DeviceKind::Cuda, 0};
  throw ConfigError(fmt::format("{} ranks of this machine see {} CUDA devices", ranks, devices),
                    "start as many ranks as there are devices, or let the launcher give each rank its own");
}

std::string describe_device(const Device& device, DeviceChoice choice) {
  if (device.kind == DeviceKind::Cuda) return cuda_devices().names.at(device.index);
  return choice == DeviceChoice::Auto ? fmt::format("CPU (no CUDA device: {})", cuda_devices().why_none) : "CPU";
}

}  // namespace weft
