// SPDX-License-Identifier: Apache-2.0
// Memory of devices, pinned memory of the host, copies and memsets.
#include "simulator/libraries/cudart/answer.h"
#include "simulator/runtime/device.h"
#include "simulator/runtime/transfers.h"

using namespace weft::cuda_device;

namespace {

uint64_t address_of(const void* p) { return reinterpret_cast<uint64_t>(p); }

// A living allocation that begins at `p`.
const Allocation* allocation_at(Simulator& all, const void* p) {
  const Allocation* found = all.memory.find(address_of(p));
  return found && !found->freed && found->address == address_of(p) ? found : nullptr;
}

Status allocate(Simulator& all, void** p, size_t bytes, OpId by) {
  *p = nullptr;
  if (bytes == 0) return Status::Success;
  if (all.allocation_fails()) return Status::MemoryAllocation;
  *p = reinterpret_cast<void*>(all.memory.allocate(bytes, this_thread().device, by));
  return *p ? Status::Success : Status::MemoryAllocation;
}

Direction direction_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      return Direction::HostToHost;
    case cudaMemcpyHostToDevice:
      return Direction::HostToDevice;
    case cudaMemcpyDeviceToHost:
      return Direction::DeviceToHost;
    case cudaMemcpyDeviceToDevice:
      return Direction::DeviceToDevice;
    default:
      return Direction::ByAddress;
  }
}

Status wait_for_all(Simulator& all) {
  Status status = Status::Success;
  for (int device = 0; device < all.settings.devices; ++device)
    if (const Status one = all.wait_for_device(device); one != Status::Success) status = one;
  return status;
}

// Copies row after row; the host's rows may be in pageable memory.
cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                      cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (width > to_pitch || width > from_pitch) return Status::InvalidValue;
    for (size_t row = 0; row < height; ++row)
      if (const Status status = copy(all, static_cast<char*>(to) + row * to_pitch,
                                     static_cast<const char*>(from) + row * from_pitch, width, direction_of(kind), own);
          status != Status::Success)
        return status;
    return wait ? all.wait_for(own) : Status::Success;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** p, size_t bytes) {
  return answer_of([&](Simulator& all) {
    const Status status = check_no_capture(all);
    return status == Status::Success ? allocate(all, p, bytes, kBeforeAll) : status;
  });
}
// Waits for all work of the device, as the real call does.
cudaError_t cudaFree(void* p) {
  return answer_of([&](Simulator& all) {
    if (const Status status = check_no_capture(all); status != Status::Success) return status;
    if (!p) return Status::Success;
    const Allocation* found = allocation_at(all, p);
    if (!found || (found->kind != Allocation::Kind::Device && !all.is_managed(p))) return Status::InvalidValue;
    const Status status = found->device < 0 ? wait_for_all(all) : all.wait_for_device(found->device);
    all.free(*found);
    return status;
  });
}
cudaError_t cudaMallocManaged(void** p, size_t bytes, unsigned) {
  return answer_of([&](Simulator& all) {
    *p = nullptr;
    if (bytes == 0) return Status::InvalidValue;
    if (all.allocation_fails()) return Status::MemoryAllocation;
    *p = all.memory.allocate_pinned(bytes);
    if (*p) all.managed.insert(address_of(*p));
    return *p ? Status::Success : Status::MemoryAllocation;
  });
}
cudaError_t cudaMallocAsync(void** p, size_t bytes, cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (own.capture) refuse_call("cudaMallocAsync", "an allocation in a graph");
    return allocate(all, p, bytes, all.enqueue(own, "cudaMallocAsync of " + std::to_string(bytes) + " bytes", {}));
  });
}
cudaError_t cudaMallocFromPoolAsync(void** p, size_t bytes, cudaMemPool_t, cudaStream_t stream) {
  return cudaMallocAsync(p, bytes, stream);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) {
    if (own.capture) refuse_call("cudaFreeAsync", "a free in a graph");
    if (!p) return Status::Success;
    if (!allocation_at(all, p)) return Status::InvalidValue;
    const uint64_t address = address_of(p);
    all.enqueue(own, "cudaFreeAsync", [&all, address](OpId op) {
      if (!all.memory.free(address, op))
        all.reports.add(ReportKind::UseAfterFree, "cudaFreeAsync of what is free already");
    });
    return Status::Success;
  });
}

// The pool returns memory or keeps it at its own choice: the simulated device shows no difference.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return answer_of([&](Simulator& all) {
    if (device < 0 || device >= all.settings.devices) return Status::InvalidDevice;
    *pool = reinterpret_cast<cudaMemPool_t>(&all.memory);
    return Status::Success;
  });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      return cudaSuccess;
    default:
      refuse_call("cudaMemPoolSetAttribute", "attribute " + std::to_string(attribute));
  }
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }

cudaError_t cudaHostAlloc(void** p, size_t bytes, unsigned) {
  return answer_of([&](Simulator& all) {
    *p = nullptr;
    if (bytes == 0) return Status::Success;
    if (all.allocation_fails()) return Status::MemoryAllocation;
    *p = all.memory.allocate_pinned(bytes);
    return *p ? Status::Success : Status::MemoryAllocation;
  });
}
cudaError_t cudaMallocHost(void** p, size_t bytes) { return cudaHostAlloc(p, bytes, cudaHostAllocDefault); }
// Waits for the device, as cudaFree does.
cudaError_t cudaFreeHost(void* p) {
  return answer_of([&](Simulator& all) {
    if (!p) return Status::Success;
    const Allocation* found = allocation_at(all, p);
    if (!found || found->kind != Allocation::Kind::Pinned || all.is_managed(p)) return Status::InvalidValue;
    const Status status = wait_for_all(all);
    all.free(*found);
    return status;
  });
}
cudaError_t cudaHostRegister(void* p, size_t bytes, unsigned) {
  return answer_of([&](Simulator& all) {
    if (!p || bytes == 0) return Status::InvalidValue;
    all.memory.register_host(p, bytes);
    return Status::Success;
  });
}
cudaError_t cudaHostUnregister(void* p) {
  return answer_of([&](Simulator& all) {
    const Allocation* found = allocation_at(all, p);
    if (!found || found->kind != Allocation::Kind::Registered)
      return static_cast<Status>(cudaErrorHostMemoryNotRegistered);
    all.free(*found);
    return Status::Success;
  });
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return answer_of([&](Simulator& all) {
    *device = host;
    return all.memory.is_pinned(host) ? Status::Success : Status::InvalidValue;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return answer_of([&](Simulator& all) {
    *total = all.memory.capacity();
    *free = *total - all.memory.used(this_thread().device);
    return Status::Success;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* p) {
  return answer_of([&](Simulator& all) {
    *attributes = {};
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    const Allocation* found = all.memory.find(address_of(p));
    if (!found || found->freed || address_of(p) >= found->address + found->bytes) return Status::Success;
    const bool device = found->kind == Allocation::Kind::Device;
    attributes->type = device ? cudaMemoryTypeDevice : all.is_managed(p) ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
    attributes->device = device ? found->device : this_thread().device;
    attributes->devicePointer = const_cast<void*>(p);
    attributes->hostPointer = device ? nullptr : const_cast<void*>(p);
    return Status::Success;
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return on_stream(stream,
                   [&](Simulator& all, Stream& own) { return copy(all, to, from, bytes, direction_of(kind), own); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return on_stream(nullptr, [&](Simulator& all, Stream& own) {
    const Status status = copy(all, to, from, bytes, direction_of(kind), own);
    return status == Status::Success ? all.wait_for(own) : status;
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, stream, false);
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return copy_rows(to, to_pitch, from, from_pitch, width, height, kind, nullptr, true);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return on_stream(stream, [&](Simulator& all, Stream& own) { return fill(all, to, value, bytes, own); });
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return on_stream(nullptr, [&](Simulator& all, Stream& own) {
    const Status status = fill(all, to, value, bytes, own);
    return status == Status::Success ? all.wait_for(own) : status;
  });
}

}  // extern "C"
