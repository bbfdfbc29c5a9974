// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/devices.h"
#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {
namespace {

__global__ void probe() {}

}  // namespace

bool has_code_for(int device) {
  select_device(device);
  cudaFuncAttributes attributes;
  const cudaError_t answer = cudaFuncGetAttributes(&attributes, probe);
  if (answer == cudaErrorNoKernelImageForDevice || answer == cudaErrorInvalidDeviceFunction) {
    cudaGetLastError();
    return false;
  }
  check(answer, "looking for the device's code");
  return true;
}

}  // namespace weft::cuda
