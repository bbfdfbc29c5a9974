// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace weft {

// Worldwide unique ids of the CUDA devices that this process sees, by index: "GPU-4a1c2f9e-...". Empty if it sees none.
std::vector<std::string> cuda_device_ids();

// Pairs of device indices, the smaller one first, that can access each other's memory without the host: over NVLink, or
// through a PCIe switch.
std::vector<std::pair<int, int>> cuda_links();

}  // namespace weft
