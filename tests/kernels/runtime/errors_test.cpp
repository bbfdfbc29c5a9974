// SPDX-License-Identifier: Apache-2.0
// What a failed call of the CUDA runtime means: a lack of memory, a device that has failed, or a mistake.
#include "kernels/cuda/runtime/errors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/error.h"
#include "kernels/context.h"
#include "kernels/ops/elementwise.h"
#include "kernels/transfer.h"
#include "tests/support/cuda_devices.h"

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

// Prints the error of each call to a device whose first kernel has failed, and ends the process.
[[noreturn]] void call_a_device_that_fails() {
  Context context(Device{DeviceKind::Cuda});
  const Tensor tensor = context.empty({16}, DType::F32);
  std::vector<float> values(16);
  const auto tell = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      std::cerr << error.what() << '\n';
    }
  };
  tell([&] { fill(context, tensor, 1), download(context, tensor, std::span(values)); });
  tell([&] { context.empty({1 << 24}, DType::F32); });
  std::_Exit(7);
}

TEST(CudaErrors, NoCallToADeviceThatHasFailedSucceeds) {
  setenv("WEFT_CUDA_DEVICE_FAIL_KERNEL", "1", 1);  // for the process that ends, whose device is not known yet
  if (const std::string lacks = test::lacks_simulation(); !lacks.empty()) GTEST_SKIP() << lacks;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(call_a_device_that_fails(), testing::ExitedWithCode(7), "waiting for .*\n.*: unspecified launch failure");
}

}  // namespace
}  // namespace weft::cuda
