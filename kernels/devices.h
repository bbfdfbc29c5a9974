#pragma once
#include <memory>
#include <string>
#include <vector>

namespace weft {

class Backend;

// The CUDA devices of this machine, as this process sees them.
struct CudaDevices {
  bool built = false;              // this weft has CUDA code
  std::vector<std::string> names;  // by index: "NVIDIA H100 80GB HBM3, sm_90"
  std::string why_none;            // where there is none: what the runtime says, or that this build has no CUDA
};
// Asks each time; needs neither driver nor device.
CudaDevices cuda_devices();
// InternalError in a build without CUDA, ConfigError where there is no such device or this build has no code for it.
std::unique_ptr<Backend> make_cuda_backend(int index);

}  // namespace weft
