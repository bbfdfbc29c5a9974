// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace weft {

// The CUDA devices that this process sees, in its order, each by a name that no other device in the world has:
// "GPU-4a1c2f9e-...". Empty where there are none.
std::vector<std::string> cuda_device_ids();

// Pairs of them, the smaller number first, of which each can read and write the other's memory without the host:
// over NVLink, or a PCIe switch that lets them.
std::vector<std::pair<int, int>> cuda_links();

}  // namespace weft
