// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

// The host and devices that a rank sees.
struct SeenDevices {
  std::string host;
  std::vector<std::string> devices;  // CUDA devices, by names that are unique worldwide: "GPU-4a1c..."
};

// Whether several ranks may compute on one device if there are fewer devices than ranks.
enum class SharedDevices : uint8_t { Refused, Allowed };

// The device that each rank computes on, as an index into the devices that the rank sees. Ranks that see the same
// devices in the same order are ranks of one machine and take the devices in turn. So a rank takes the device of its
// number on the node if the launcher shows all devices to every rank, the only device if each rank is shown its own,
// and one of the devices near to it if it is shown those. ConfigError with the map of ranks and devices if a rank sees
// no device, or if two ranks would take the same device and may not.
std::vector<int> divide_devices(std::span<const SeenDevices> ranks, SharedDevices shared = SharedDevices::Refused);

// Whether another rank computes on the device of `rank`.
bool shares_device(std::span<const SeenDevices> ranks, std::span<const int> taken, size_t rank);

// One line per host: "node-1: rank 0 GPU-4a1c..., rank 1 GPU-77b0...".
std::string device_map(std::span<const SeenDevices> ranks, std::span<const int> taken);

}  // namespace weft
