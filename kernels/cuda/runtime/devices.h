// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft::cuda {

// How many devices this process sees and, if there are none, the reason.
struct VisibleDevices {
  int count = 0;
  std::string why_none;
};
VisibleDevices visible_devices();

std::string device_name(int device);  // "NVIDIA H100 80GB HBM3, sm_90"
// Whether this build has code that the device runs: machine code for it, or PTX that the driver compiles.
bool has_code_for(int device);
int compute_capability(int device);  // 90: sm_90
std::string runtime_version();       // "CUDA 13.0"

}  // namespace weft::cuda
