// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/errors.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"

namespace weft::cuda {
namespace {

std::string words(cudaError_t answer, const char* call) {
  return fmt::format("CUDA: {}: {} ({})", call, cudaGetErrorString(answer), cudaGetErrorName(answer));
}

// Errors of the device itself, as the runtime's manual describes them. The others are refusals, or mistakes of a
// kernel. A failed launch may be either, and is what a device that has fallen off its bus gives.
bool is_of_the_device(cudaError_t answer) {
  constexpr std::array kCodes = {
      cudaErrorECCUncorrectable, cudaErrorHardwareStackError, cudaErrorNvlinkUncorrectable, cudaErrorDevicesUnavailable,
      cudaErrorSystemNotReady,   cudaErrorLaunchFailure,      cudaErrorLaunchTimeout,       cudaErrorUnknown};
  return std::ranges::find(kCodes, answer) != kCodes.end();
}

}  // namespace

void check(cudaError_t answer, const char* call) {
  if (answer == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report it again
  if (answer == cudaErrorMemoryAllocation) throw MemoryError(words(answer, call));
  if (is_of_the_device(answer)) {
    throw LostDeviceError(words(answer, call),
                          "the same command resumes from the last checkpoint, perhaps on another node");
  }
  throw DeviceError(words(answer, call), "an earlier kernel may have failed: CUDA_LAUNCH_BLOCKING=1 shows which");
}

void check_launch(cudaError_t answer, const void* kernel) {
  if (answer == cudaSuccess) return;
  const char* name = "a kernel";
  cudaFuncGetName(&name, kernel);
  check(answer, name);
}

void check_quietly(cudaError_t answer, const char* call) noexcept {
  if (answer != cudaSuccess) log_warning("{}", words(answer, call));
}

}  // namespace weft::cuda
