// SPDX-License-Identifier: Apache-2.0
// What a failed call of the CUDA runtime means: a lack of memory, a device that has failed, or a mistake.
#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/cuda/runtime/errors.h"

namespace weft::cuda {
namespace {

ExitCode code_of(cudaError_t answer) {
  try {
    check(answer, "a call");
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::Done;
}

TEST(CudaErrors, ADeviceThatHasFailedIsNoMistake) {
  EXPECT_EQ(code_of(cudaSuccess), ExitCode::Done);
  for (const cudaError_t answer : {cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable, cudaErrorDevicesUnavailable,
                                   cudaErrorLaunchFailure, cudaErrorUnknown}) {
    EXPECT_EQ(code_of(answer), ExitCode::Hardware) << cudaGetErrorName(answer);
  }
  for (const cudaError_t answer : {cudaErrorInvalidValue, cudaErrorIllegalAddress, cudaErrorAssert,
                                   cudaErrorNoKernelImageForDevice, cudaErrorInsufficientDriver}) {
    EXPECT_EQ(code_of(answer), ExitCode::Internal) << cudaGetErrorName(answer);
  }
  EXPECT_THROW(check(cudaErrorMemoryAllocation, "a call"), MemoryError);
}

}  // namespace
}  // namespace weft::cuda
