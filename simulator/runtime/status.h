// SPDX-License-Identifier: Apache-2.0
// Results of calls of the CUDA runtime, with the numbers of cudaError_t: the simulator itself is built without
// CUDA's headers (libraries/cudart/ checks the two lists against each other).
#pragma once

namespace weft::cuda_device {

enum class Status : int {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InvalidConfiguration = 9,
  InsufficientDriver = 35,
  InvalidDeviceFunction = 98,
  NoDevice = 100,
  InvalidDevice = 101,
  NoKernelImage = 209,
  InvalidResourceHandle = 400,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  Assert = 710,
  MisalignedAddress = 716,
  LaunchFailure = 719,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  StreamCaptureUnmatched = 903,
  StreamCaptureUnjoined = 904,
  StreamCaptureImplicit = 906,
};

}  // namespace weft::cuda_device
