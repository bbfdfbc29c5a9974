// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that loads any code and runs none, which is enough for cuDNN to build a plan for a device given by its
// description. driver_names.inc lists the other entry points of the toolkit's driver library: each returns success.
namespace {

constexpr int kDone = 0, kNoDevice = 100;
int handed(void** handle) {
  *handle = reinterpret_cast<void*>(16);
  return kDone;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kNoDevice; }  // CUDA's runtime then reports no device
int cuLibraryLoadData(void** library) { return handed(library); }
int cuLibraryGetKernel(void** kernel) { return handed(kernel); }
int cuLibraryGetModule(void** module) { return handed(module); }
int cuKernelGetFunction(void** function) { return handed(function); }
int cuModuleLoadData(void** module) { return handed(module); }
int cuModuleLoadDataEx(void** module) { return handed(module); }
int cuModuleGetFunction(void** function) { return handed(function); }
int weft_driver_done() { return kDone; }
#define DONE(name) int name() __attribute__((alias("weft_driver_done")));
#include "driver_names.inc"

}  // extern "C"
