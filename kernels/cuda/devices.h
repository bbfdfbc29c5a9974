#pragma once
#include <string>

namespace weft::cuda {

std::string device_name(int device);  // "NVIDIA H100 80GB HBM3, sm_90"
std::string runtime_version();        // "CUDA 13.0"

}  // namespace weft::cuda
