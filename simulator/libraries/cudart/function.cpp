// SPDX-License-Identifier: Apache-2.0
// Attributes of kernels, and variables by their symbols.
#include "simulator/libraries/cudart/answer.h"
#include "simulator/runtime/device.h"
#include "simulator/runtime/launch.h"
#include "simulator/runtime/transfers.h"

using namespace weft::cuda_device;

namespace {

// Runs `call` with a variable's place on the thread's device, if offset and bytes are within the variable.
template <class Call>
cudaError_t with_symbol(const void* symbol, size_t offset, size_t bytes, Call&& call) {
  return answer_of([&](Simulator& all) {
    const Variable variable = all.programs.variable(symbol, this_thread().device);
    if (variable.address == 0) return static_cast<Status>(cudaErrorInvalidSymbol);
    if (offset + bytes > variable.bytes) return Status::InvalidValue;
    return call(all, reinterpret_cast<void*>(variable.address + offset));
  });
}

Status copy_on(Simulator& all, void* to, const void* from, size_t bytes, cudaStream_t stream, bool wait) {
  Stream* own = all.stream_of(stream);
  if (!own) return Status::InvalidResourceHandle;
  const Status status = copy(all, to, from, bytes, Direction::ByAddress, *own);
  return wait && status == Status::Success ? all.wait_for(*own) : status;
}

}  // namespace

extern "C" {

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return answer_of([&](Simulator& all) {
    switch (attribute) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        return set_dynamic_shared_limit(all, function, this_thread().device, value);
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        return Status::Success;  // the attribute is a hint
      default:
        refuse_call("cudaFuncSetAttribute", "attribute " + std::to_string(attribute));
    }
  });
}
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }

// ptxas alone decides registers and local memory: numRegs is 0.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return answer_of([&](Simulator& all) {
    const auto kernel = kernel_of(all, function, this_thread().device);
    if (!kernel) return Status::InvalidDeviceFunction;
    if (!has_code(all)) return Status::NoKernelImage;
    *attributes = {};
    attributes->sharedSizeBytes = kernel->shared_bytes;
    attributes->localSizeBytes = kernel->local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(kernel->max_threads);
    attributes->ptxVersion = 80;
    attributes->binaryVersion = all.settings.capability;
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(dynamic_shared_limit(all, function, this_thread().device));
    return Status::Success;
  });
}
cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return answer_of([&](Simulator& all) {
    const Function* found = all.programs.function(function);
    if (!found) return Status::InvalidDeviceFunction;
    *name = found->name.c_str();
    return Status::Success;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t dynamic_shared_bytes, unsigned) {
  return answer_of([&](Simulator& all) {
    const auto kernel = kernel_of(all, function, this_thread().device);
    if (!kernel) return Status::InvalidDeviceFunction;
    *blocks = blocks_per_multiprocessor(all, *kernel, threads, dynamic_shared_bytes);
    return Status::Success;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared_bytes, 0);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return with_symbol(symbol, 0, 0, [&](Simulator&, void* at) {
    *address = at;
    return Status::Success;
  });
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return answer_of([&](Simulator& all) {
    const Variable variable = all.programs.variable(symbol, this_thread().device);
    *bytes = variable.bytes;
    return variable.address ? Status::Success : static_cast<Status>(cudaErrorInvalidSymbol);
  });
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind) {
  return with_symbol(symbol, offset, bytes,
                     [&](Simulator& all, void* to) { return copy_on(all, to, from, bytes, nullptr, true); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind,
                                    cudaStream_t stream) {
  return with_symbol(symbol, offset, bytes,
                     [&](Simulator& all, void* to) { return copy_on(all, to, from, bytes, stream, false); });
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
  return with_symbol(symbol, offset, bytes,
                     [&](Simulator& all, void* from) { return copy_on(all, to, from, bytes, nullptr, true); });
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind,
                                      cudaStream_t stream) {
  return with_symbol(symbol, offset, bytes,
                     [&](Simulator& all, void* from) { return copy_on(all, to, from, bytes, stream, false); });
}

}  // extern "C"
