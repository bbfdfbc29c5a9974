// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace weft::cuda {

// What a call of the CUDA runtime answered: MemoryError where the device has no more memory, otherwise DeviceError,
// with the runtime's own words. `call` says what was done: "copying 4096 bytes to device 0". An error of a kernel shows
// at whichever call comes next.
void check(cudaError_t answer, const char* call);
// The same of a launch, which is named by its kernel.
void check_launch(cudaError_t answer, const void* kernel);
// For destructors: logs what check() would have thrown.
void check_quietly(cudaError_t answer, const char* call) noexcept;

}  // namespace weft::cuda
