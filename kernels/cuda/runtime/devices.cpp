// SPDX-License-Identifier: Apache-2.0
#include "kernels/device/devices.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/cudnn/attention_plan.h"
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/errors.h"

namespace weft {
namespace cuda {

std::string device_name(int device) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device), "asking what a device is");
  return fmt::format("{}, sm_{}{}", properties.name, properties.major, properties.minor);
}

namespace {

int ask(int device, cudaDeviceAttr attribute) {
  int number = 0;
  check(cudaDeviceGetAttribute(&number, attribute, device), "asking what a device can do");
  return number;
}

}  // namespace

int compute_capability(int device) {
  return 10 * ask(device, cudaDevAttrComputeCapabilityMajor) + ask(device, cudaDevAttrComputeCapabilityMinor);
}

BlockLimits block_limits(int device) {
  return {.multiprocessors = ask(device, cudaDevAttrMultiProcessorCount),
          .threads = ask(device, cudaDevAttrMaxThreadsPerMultiProcessor),
          .blocks = ask(device, cudaDevAttrMaxBlocksPerMultiprocessor),
          .shared = ask(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          .shared_of_block = ask(device, cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

int64_t BlockLimits::blocks_at_once(int threads_of_block, size_t shared_of_each) const {
  const auto fit = static_cast<int>(static_cast<size_t>(shared) / shared_of_each);
  return int64_t{multiprocessors} * std::max(1, std::min({blocks, threads / threads_of_block, fit}));
}

namespace {

std::string version_text(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

// The newest CUDA that the driver can run; the runtime answers 0 if there is no driver.
int driver_number() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "asking for the driver's version");
  return version;
}

std::string driver_version() {
  const int version = driver_number();
  return version == 0 ? "no driver" : "driver for " + version_text(version);
}

int runtime_number() {
  int version = 0;
  check(cudaRuntimeGetVersion(&version), "asking for the runtime's version");
  return version;
}

// Every driver of a major version runs all of its minor versions.
std::string too_old(int driver, int runtime) {
  const int major = runtime / 1000;
  const std::string needed = major == 12 ? "NVIDIA's driver 525 or later" : "NVIDIA's driver 580 or later";
  return fmt::format("the driver for {} is older than the {} that this weft is built with; install {}{}",
                     version_text(driver), version_text(runtime), needed,
                     major == 12 ? "" : ", or build weft with CUDA 12.4 or a later 12");
}

}  // namespace

VisibleDevices visible_devices() {
  VisibleDevices seen;
  const cudaError_t answer = cudaGetDeviceCount(&seen.count);
  if (answer != cudaSuccess) {
    cudaGetLastError();
    const int driver = driver_number();
    if (answer == cudaErrorInsufficientDriver && driver > 0) return {.why_none = too_old(driver, runtime_number())};
    return {.why_none = cudaGetErrorString(answer)};
  }
  if (seen.count == 0) seen.why_none = "the driver shows no device";
  return seen;
}

std::string runtime_version() { return version_text(runtime_number()); }

}  // namespace cuda

namespace {

// Throws ConfigError before anything is allocated.
void require_code(int device, const std::string& name) {
  if (cuda::has_code_for(device)) return;
  throw ConfigError(
      fmt::format("CUDA device {} is {}, and this weft is built for {}", device, name, WEFT_CUDA_ARCHITECTURES),
      "rebuild with -DWEFT_CUDA_ARCHITECTURES=, the device's number and -real; weft's kernels need "
      "sm_80 or newer");
}

}  // namespace

CudaDevices cuda_devices() {
  CudaDevices found{.built = true,
                    .runtime = cuda::runtime_version(),
                    .driver = cuda::driver_version(),
                    .code = WEFT_CUDA_ARCHITECTURES};
  const cuda::VisibleDevices seen = cuda::visible_devices();
  for (int device = 0; device < seen.count; ++device) found.names.push_back(cuda::device_name(device));
  found.why_none = seen.why_none;
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
  const cuda::VisibleDevices seen = cuda::visible_devices();
  require<ConfigError>(index < seen.count, "CUDA device {} is requested, but this process sees {}{}", index, seen.count,
                       seen.why_none.empty() ? "" : ": " + seen.why_none);
  require_code(index, cuda::device_name(index));
  return std::make_unique<cuda::CudaBackend>(index);
}

}  // namespace weft
