// SPDX-License-Identifier: Apache-2.0
// Errors with their names and descriptions.
#include <algorithm>
#include <iterator>
#include <utility>

#include "simulator/libraries/cudart/answer.h"

using namespace weft::cuda_device;

namespace {

struct Described {
  cudaError_t error;
  const char* name;
  const char* text;
};

// Every error that the simulator returns.
constexpr Described kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState", "the operation cannot be performed in the present state"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

const Described* described(cudaError_t error) {
  const auto* found =
      std::find_if(std::begin(kErrors), std::end(kErrors), [&](const Described& one) { return one.error == error; });
  return found == std::end(kErrors) ? nullptr : found;
}

// The values of Status are CUDA's numbers.
static_assert(static_cast<int>(Status::InvalidValue) == cudaErrorInvalidValue);
static_assert(static_cast<int>(Status::MemoryAllocation) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(Status::InvalidConfiguration) == cudaErrorInvalidConfiguration);
static_assert(static_cast<int>(Status::InsufficientDriver) == cudaErrorInsufficientDriver);
static_assert(static_cast<int>(Status::InvalidDeviceFunction) == cudaErrorInvalidDeviceFunction);
static_assert(static_cast<int>(Status::NoDevice) == cudaErrorNoDevice);
static_assert(static_cast<int>(Status::InvalidDevice) == cudaErrorInvalidDevice);
static_assert(static_cast<int>(Status::InvalidResourceHandle) == cudaErrorInvalidResourceHandle);
static_assert(static_cast<int>(Status::NotReady) == cudaErrorNotReady);
static_assert(static_cast<int>(Status::IllegalAddress) == cudaErrorIllegalAddress);
static_assert(static_cast<int>(Status::LaunchOutOfResources) == cudaErrorLaunchOutOfResources);
static_assert(static_cast<int>(Status::LaunchTimeout) == cudaErrorLaunchTimeout);
static_assert(static_cast<int>(Status::Assert) == cudaErrorAssert);
static_assert(static_cast<int>(Status::MisalignedAddress) == cudaErrorMisalignedAddress);
static_assert(static_cast<int>(Status::LaunchFailure) == cudaErrorLaunchFailure);
static_assert(static_cast<int>(Status::StreamCaptureUnsupported) == cudaErrorStreamCaptureUnsupported);
static_assert(static_cast<int>(Status::StreamCaptureInvalidated) == cudaErrorStreamCaptureInvalidated);
static_assert(static_cast<int>(Status::StreamCaptureUnmatched) == cudaErrorStreamCaptureUnmatched);
static_assert(static_cast<int>(Status::StreamCaptureUnjoined) == cudaErrorStreamCaptureUnjoined);
static_assert(static_cast<int>(Status::StreamCaptureImplicit) == cudaErrorStreamCaptureImplicit);

// A device that has failed for good returns its error at every call.
cudaError_t last_error() {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  const Status failed = all.health(this_thread().device);
  return as_error(failed != Status::Success ? failed : this_thread().last_error);
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  const cudaError_t error = last_error();
  this_thread().last_error = Status::Success;
  return error;
}
cudaError_t cudaPeekAtLastError() { return last_error(); }
const char* cudaGetErrorName(cudaError_t error) {
  const Described* found = described(error);
  return found ? found->name : "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
  const Described* found = described(error);
  return found ? found->text : "unrecognized error code";
}

}  // extern "C"
