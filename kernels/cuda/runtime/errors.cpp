// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/errors.h"

#include "base/error.h"
#include "base/log.h"

namespace weft::cuda {
namespace {

std::string words(cudaError_t answer, const char* call) {
  return fmt::format("CUDA: {}: {} ({})", call, cudaGetErrorString(answer), cudaGetErrorName(answer));
}

}  // namespace

void check(cudaError_t answer, const char* call) {
  if (answer == cudaSuccess) return;
  cudaGetLastError();  // so that the next call does not report it again
  if (answer == cudaErrorMemoryAllocation) throw MemoryError(words(answer, call));
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
