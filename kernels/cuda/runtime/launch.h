// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime.h>

#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {

// Blocks of `size` that cover n.
constexpr unsigned blocks_for(int64_t n, int64_t size) { return static_cast<unsigned>((n + size - 1) / size); }

// Queues kernel<<<grid, block, shared_bytes>>>(args...). A grid of 0 blocks does nothing. A kernel must opt in to more
// than 48 KiB of dynamic shared memory, which this does.
template <class... Params, class... Args>
void launch(const Stream& stream, void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes,
            Args&&... args) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  constexpr size_t kWithoutOptIn = size_t{48} << 10;
  select_device(stream.device());
  const auto* const function = reinterpret_cast<const void*>(kernel);
  if (shared_bytes > kWithoutOptIn) {
    check_launch(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
        function);
  }
  kernel<<<grid, block, shared_bytes, stream.get()>>>(static_cast<Params>(std::forward<Args>(args))...);
  check_launch(cudaGetLastError(), function);
}

}  // namespace weft::cuda
