// SPDX-License-Identifier: Apache-2.0
// The driver's library, for libraries that load it beside the runtime: it reports that there is no driver. Libraries
// that are not simulated (cuDNN) then find no device and refuse, instead of failing without an explanation.
#include <cuda.h>

#include <cstring>

extern "C" {

CUresult cuInit(unsigned) { return CUDA_ERROR_STUB_LIBRARY; }
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 0;
  return CUDA_ERROR_STUB_LIBRARY;
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_STUB_LIBRARY ? "CUDA_ERROR_STUB_LIBRARY" : "CUDA_ERROR_NOT_FOUND";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_STUB_LIBRARY ? "the simulated device has no driver" : "not simulated";
  return CUDA_SUCCESS;
}

// Looks a function up by name; a function that is missing here is not found.
CUresult cuGetProcAddress_v2(const char* name, void** function, int, cuuint64_t,
                             CUdriverProcAddressQueryResult* found) {
  struct Entry {
    const char* name;
    void* function;
  };
  const Entry entries[] = {{"cuInit", reinterpret_cast<void*>(cuInit)},
                           {"cuDriverGetVersion", reinterpret_cast<void*>(cuDriverGetVersion)},
                           {"cuDeviceGetCount", reinterpret_cast<void*>(cuDeviceGetCount)},
                           {"cuGetErrorName", reinterpret_cast<void*>(cuGetErrorName)},
                           {"cuGetErrorString", reinterpret_cast<void*>(cuGetErrorString)},
                           {"cuGetProcAddress", reinterpret_cast<void*>(cuGetProcAddress_v2)}};
  *function = nullptr;
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, name) == 0) *function = entry.function;
  if (found) *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
