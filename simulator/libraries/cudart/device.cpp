// SPDX-License-Identifier: Apache-2.0
// Devices, their properties and limits, versions.
#include "simulator/runtime/device.h"

#include <algorithm>
#include <cstring>

#include "simulator/libraries/cudart/answer.h"

using namespace weft::cuda_device;
using Limits = DeviceLimits;

namespace {

bool is_device(const Simulator& all, int device) { return device >= 0 && device < all.settings.devices; }

// The attributes by which programs choose kernels and sizes.
int attribute_of(const Simulator& all, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return Limits::kThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return Limits::kBlockX;
    case cudaDevAttrMaxBlockDimY:
      return Limits::kBlockY;
    case cudaDevAttrMaxBlockDimZ:
      return Limits::kBlockZ;
    case cudaDevAttrMaxGridDimX:
      return Limits::kGridX;
    case cudaDevAttrMaxGridDimY:
      return Limits::kGridY;
    case cudaDevAttrMaxGridDimZ:
      return Limits::kGridZ;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return Limits::kSharedPerBlock;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return static_cast<int>(all.multiprocessor().shared_per_block_opt_in());
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return static_cast<int>(all.multiprocessor().shared);
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return Limits::kSharedReserved;
    case cudaDevAttrTotalConstantMemory:
      return Limits::kConstantBytes;
    case cudaDevAttrWarpSize:
      return Limits::kWarp;
    case cudaDevAttrMaxRegistersPerBlock:
      return Limits::kRegistersPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return Limits::kRegistersPerMultiprocessor;
    case cudaDevAttrMultiProcessorCount:
      return Limits::kMultiprocessors;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return all.multiprocessor().threads;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return all.multiprocessor().blocks;
    case cudaDevAttrL2CacheSize:
      return Limits::kL2Bytes;
    case cudaDevAttrComputeCapabilityMajor:
      return all.settings.capability / 10;
    case cudaDevAttrComputeCapabilityMinor:
      return all.settings.capability % 10;
    case cudaDevAttrAsyncEngineCount:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrMemoryPoolsSupported:
      return 1;
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrComputeMode:
      return 0;
    default:
      refuse_call("cudaDeviceGetAttribute", "attribute " + std::to_string(attribute));
  }
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  const Status any = any_device(simulator());
  *count = any == Status::Success ? simulator().settings.devices : 0;
  return answer(any);
}
cudaError_t cudaSetDevice(int device) {
  Simulator& all = simulator();
  if (const Status any = any_device(all); any != Status::Success) return answer(any);
  if (!is_device(all, device)) return answer(Status::InvalidDevice);
  this_thread().device = device;
  const std::lock_guard lock(all.mutex);
  return answer(all.health(device));
}
cudaError_t cudaGetDevice(int* device) {
  return answer_of([&](Simulator&) {
    *device = this_thread().device;
    return Status::Success;
  });
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return answer_of([&](Simulator& all) {
    if (!is_device(all, device)) return Status::InvalidDevice;
    *value = attribute_of(all, attribute);
    return Status::Success;
  });
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  return answer_of([&](Simulator& all) {
    if (!is_device(all, device)) return Status::InvalidDevice;
    *p = {};
    std::strcpy(p->name, Limits::kName);
    std::memcpy(p->uuid.bytes, "simulated device", 15);
    p->uuid.bytes[15] = static_cast<char>(all.settings.physical(device));
    p->totalGlobalMem = all.memory.capacity();
    p->sharedMemPerBlock = Limits::kSharedPerBlock;
    p->sharedMemPerBlockOptin = all.multiprocessor().shared_per_block_opt_in();
    p->sharedMemPerMultiprocessor = all.multiprocessor().shared;
    p->reservedSharedMemPerBlock = Limits::kSharedReserved;
    p->regsPerBlock = Limits::kRegistersPerBlock;
    p->regsPerMultiprocessor = Limits::kRegistersPerMultiprocessor;
    p->warpSize = Limits::kWarp;
    p->maxThreadsPerBlock = Limits::kThreadsPerBlock;
    p->maxThreadsPerMultiProcessor = all.multiprocessor().threads;
    p->maxBlocksPerMultiProcessor = all.multiprocessor().blocks;
    const int block[] = {Limits::kBlockX, Limits::kBlockY, Limits::kBlockZ};
    const int grid[] = {Limits::kGridX, Limits::kGridY, Limits::kGridZ};
    std::copy_n(block, 3, p->maxThreadsDim);
    std::copy_n(grid, 3, p->maxGridSize);
    p->totalConstMem = Limits::kConstantBytes;
    p->major = all.settings.capability / 10;
    p->minor = all.settings.capability % 10;
    p->multiProcessorCount = Limits::kMultiprocessors;
    p->l2CacheSize = Limits::kL2Bytes;
    p->memPitch = 2147483647;
    p->textureAlignment = 512;
    p->asyncEngineCount = p->concurrentKernels = p->unifiedAddressing = p->canMapHostMemory = 1;
    p->streamPrioritiesSupported = p->memoryPoolsSupported = 1;
    p->pciBusID = all.settings.physical(device) + 1;
    return Status::Success;
  });
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return answer_of([&](Simulator& all) {
    if (!is_device(all, device)) return Status::InvalidDevice;
    std::snprintf(text, static_cast<size_t>(bytes), "0000:%02x:00.0", device + 1);
    return Status::Success;
  });
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = driver_version(simulator());
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
// Priorities change nothing: every order that streams and events allow is drawn anyway.
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = Limits::kHighestPriority;
  return cudaSuccess;
}
// Programs may ask for peer access; it is not simulated, and cudaDeviceEnablePeerAccess ends the program.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int other) {
  return answer_of([&](Simulator& all) {
    if (!is_device(all, device) || !is_device(all, other)) return Status::InvalidDevice;
    *can = device != other && device / all.settings.linked == other / all.settings.linked;
    return Status::Success;
  });
}
// The way the host waits (spinning or not) changes nothing here.
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaInitDevice(int device, unsigned, unsigned) { return cudaSetDevice(device); }
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
