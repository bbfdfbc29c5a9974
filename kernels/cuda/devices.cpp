#include "kernels/devices.h"

#include "base/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention_plan.h"
#include "kernels/cuda/devices.h"
#include "kernels/cuda/errors.h"

namespace weft {
namespace cuda {

std::string device_name(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "asking what a device is");
  return fmt::format("{}, sm_{}{}", properties.name, properties.major, properties.minor);
}

namespace {

std::string version_text(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

// The newest CUDA that the driver can run; it answers 0 where there is none.
std::string driver_version() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "asking for the driver's version");
  return version == 0 ? "no driver" : "driver for " + version_text(version);
}

}  // namespace

std::string runtime_version() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "asking for the runtime's version");
  return version_text(version);
}

}  // namespace cuda

namespace {

// Before anything is allocated.
void require_code(int device, const std::string& name) {
  if (cuda::has_code_for(device)) return;
  throw ConfigError(
      fmt::format("CUDA device {} is {}, and this weft is built for {}", device, name, WEFT_CUDA_ARCHITECTURES),
      "build it again with -DWEFT_CUDA_ARCHITECTURES=, the device's number and -real; its kernels need "
      "sm_80 or newer");
}

}  // namespace

CudaDevices cuda_devices() {
  CudaDevices found{.built = true,
                    .runtime = cuda::runtime_version(),
                    .driver = cuda::driver_version(),
                    .code = WEFT_CUDA_ARCHITECTURES};
  int count = 0;
  const cudaError_t answer = cudaGetDeviceCount(&count);
  if (answer != cudaSuccess) {
    cudaGetLastError();
    found.why_none = cudaGetErrorString(answer);
    return found;
  }
  for (int device = 0; device < count; ++device) found.names.push_back(cuda::device_name(device));
  if (count == 0) found.why_none = "the driver shows no device";
  return found;
}

std::string cudnn_text() {
  try {
    return cuda::cudnn_version();
  } catch (const cuda::CudnnRefusal& refusal) {
    return refusal.what();
  }
}

std::unique_ptr<Backend> make_planned_cuda_backend() { return std::make_unique<cuda::CudaBackend>(); }

std::unique_ptr<Backend> make_cuda_backend(int index) {
  const CudaDevices found = cuda_devices();
  require<ConfigError>(index < static_cast<int>(found.names.size()), "CUDA device {} is asked for, but there are {}{}",
                       index, found.names.size(), found.why_none.empty() ? "" : ": " + found.why_none);
  require_code(index, found.names[static_cast<size_t>(index)]);
  return std::make_unique<cuda::CudaBackend>(index);
}

}  // namespace weft
