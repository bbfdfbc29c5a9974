// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 that loads any code and runs none: all that cuDNN asks of a driver while it builds a plan for a device
// that is described to it. Each entry point of the toolkit's driver library that is not defined here answers that it is
// done; driver_names.inc lists them.
namespace {

constexpr int kDone = 0, kNoDevice = 100;
int handed(void** handle) {
  *handle = reinterpret_cast<void*>(16);
  return kDone;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return kNoDevice; }  // CUDA's runtime is to know that there is none
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
