// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace weft::cuda {

// Throws if a call of the CUDA runtime failed: MemoryError if the device is out of memory, LostDeviceError if
// it has failed itself, else DeviceError, with the runtime's own words. `call` names what was done: "copying 4096 bytes
// to device 0". An error of a kernel shows at the next call.
void check(cudaError_t answer, const char* call);
// check() for a launch; the error names the kernel.
void check_launch(cudaError_t answer, const void* kernel);
// For destructors: logs what check() would throw.
void check_quietly(cudaError_t answer, const char* call) noexcept;

}  // namespace weft::cuda
