// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft::cuda {

// How many devices this process sees, and why there is none.
struct VisibleDevices {
  int count = 0;
  std::string why_none;
};
VisibleDevices visible_devices();

std::string device_name(int device);  // "NVIDIA H100 80GB HBM3, sm_90"
// Whether this build has code that the device runs: machine code of its own, or PTX that is made into it.
bool has_code_for(int device);
std::string runtime_version();  // "CUDA 13.0"

}  // namespace weft::cuda
