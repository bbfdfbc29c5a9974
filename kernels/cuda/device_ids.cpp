#include "kernels/device_ids.h"

#include <fmt/format.h>

#include "kernels/cuda/devices.h"
#include "kernels/cuda/errors.h"

namespace weft {
namespace {

// Its UUID, as the driver's tools write it.
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

}  // namespace

std::vector<std::string> cuda_device_ids() {
  const int count = cuda::visible_devices().count;
  std::vector<std::string> ids;
  for (int device = 0; device < count; ++device) ids.push_back(id_of(device));
  return ids;
}

}  // namespace weft
