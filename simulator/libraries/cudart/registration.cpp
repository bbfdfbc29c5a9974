// SPDX-License-Identifier: Apache-2.0
// Calls of nvcc's host code: it registers the program's kernels and variables before main, and launches them.
#include <cstring>

#include "simulator/libraries/cudart/answer.h"
#include "simulator/runtime/launch.h"

namespace weft::cuda_device {
namespace {

Dim dim_of(dim3 d) { return {d.x, d.y, d.z}; }
dim3 dim3_of(Dim d) { return {d.x, d.y, d.z}; }

cudaError_t launch_on(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                      cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (own.device != this_thread().device) return Status::InvalidResourceHandle;
    return launch(all, function, dim_of(grid), dim_of(block), arguments, shared_bytes, own);
  });
}

}  // namespace
}  // namespace weft::cuda_device

using namespace weft::cuda_device;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    const void* image;
    void* file;
  };
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  return reinterpret_cast<void**>(&all.programs.add(static_cast<const Wrapper*>(wrapper)->image));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** binary, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  all.programs.add_function(*reinterpret_cast<FatBinary*>(binary), host, name);
}
void __cudaRegisterVar(void** binary, char* host, char*, const char* name, int, size_t, int, int) {
  Simulator& all = simulator();
  const std::lock_guard lock(all.mutex);
  all.programs.add_variable(*reinterpret_cast<FatBinary*>(binary), host, name);
}
void __cudaRegisterManagedVar(void**, void**, char*, const char* name, int, size_t, int, int) {
  refuse_call("__managed__", std::string("the variable ") + name);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  this_thread().configurations.push_back({dim_of(grid), dim_of(block), shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  const ThreadState::Configuration last = this_thread().configurations.back();
  this_thread().configurations.pop_back();
  *grid = dim3_of(last.grid);
  *block = dim3_of(last.block);
  *shared_bytes = last.shared_bytes;
  std::memcpy(stream, &last.stream, sizeof last.stream);
  return cudaSuccess;
}

// A kernel's handle is the host's address of the kernel.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  return launch_on(kernel, grid, block, arguments, shared_bytes, stream);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  return launch_on(function, grid, block, arguments, shared_bytes, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  for (unsigned k = 0; k < config->numAttrs; ++k)
    if (const auto id = config->attrs[k].id; id != cudaLaunchAttributeIgnore && id != cudaLaunchAttributePriority)
      refuse_call("cudaLaunchKernelExC", "launch attribute " + std::to_string(id));
  return launch_on(function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
}

}  // extern "C"
