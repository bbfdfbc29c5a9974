// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/device/ids.h"

namespace weft {
namespace {

// The device's UUID, as the driver's tools write it.
std::string id_of(int device) {
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, device), "asking what a device is");
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", group ? "-" : "", static_cast<unsigned char>(properties.uuid.bytes[i]));
  }
  return text;
}

bool reaches(int device, int other) {
  int can = 0;
  cuda::check(cudaDeviceCanAccessPeer(&can, device, other), "asking whether a device reaches another");
  return can != 0;
}

}  // namespace

std::vector<std::string> cuda_device_ids() {
  const int count = cuda::visible_devices().count;
  std::vector<std::string> ids;
  for (int device = 0; device < count; ++device) ids.push_back(id_of(device));
  return ids;
}

std::vector<std::pair<int, int>> cuda_links() {
  const int count = cuda::visible_devices().count;
  std::vector<std::pair<int, int>> links;
  for (int device = 0; device < count; ++device) {
    for (int other = device + 1; other < count; ++other) {
      if (reaches(device, other) && reaches(other, device)) links.emplace_back(device, other);
    }
  }
  return links;
}

}  // namespace weft
