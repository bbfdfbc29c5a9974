// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/runtime/device_allocator.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/runtime/errors.h"
#include "kernels/cuda/runtime/stream.h"

namespace weft::cuda {
namespace {

constexpr size_t kAlignment = 512;  // more than any access or library needs
constexpr size_t kLargeStep = size_t{2} << 20;
constexpr size_t kHostPage = size_t{4} << 10;

// Returns the block of an allocation, or no block if the memory ran out.
MemoryBlock block_of(cudaError_t answer, void* memory, size_t size, const char* call) {
  if (answer == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return {};
  }
  check(answer, call);
  auto* address = static_cast<std::byte*>(memory);
  return {.address = address, .reach = address, .bytes = size};
}

class DeviceAllocator : public Allocator {
 public:
  explicit DeviceAllocator(int device) : device_(device) {}
  Device device() const override { return {DeviceKind::Cuda, device_}; }

  // Sizes are rounded to eighths of a power of two, those of large blocks to the device's pages.
  size_t block_size(size_t bytes) const override {
    const size_t least = std::max(bytes, kAlignment);
    const size_t step = std::clamp(std::bit_floor(least) / 8, kAlignment, kLargeStep);
    return (least + step - 1) / step * step;
  }

  MemoryBlock allocate(size_t size) override {
    select_device(device_);
    void* memory = nullptr;
    const cudaError_t answer = cudaMalloc(&memory, size);
    return block_of(answer, memory, size, "allocating device memory");
  }

  size_t free_bytes() const override {
    select_device(device_);
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "asking for the device's free memory");
    return free;
  }

  // cudaFree waits for all work of the device: nothing reads a released block.
  void release(const MemoryBlock& block) noexcept override {
    check_quietly(cudaSetDevice(device_), "choosing a device");
    check_quietly(cudaFree(block.address), "freeing device memory");
  }

 private:
  int device_;
};

class PinnedAllocator : public Allocator {
 public:
  explicit PinnedAllocator(int device) : device_(device) {}
  Device device() const override { return {}; }
  size_t block_size(size_t bytes) const override {
    return (std::max(bytes, kHostPage) + kHostPage - 1) / kHostPage * kHostPage;
  }

  MemoryBlock allocate(size_t size) override {
    select_device(device_);
    void* memory = nullptr;
    const cudaError_t answer = cudaMallocHost(&memory, size);
    return block_of(answer, memory, size, "allocating pinned host memory");
  }

  void release(const MemoryBlock& block) noexcept override {
    check_quietly(cudaFreeHost(block.address), "freeing pinned host memory");
  }

 private:
  int device_;
};

}  // namespace

std::shared_ptr<Allocator> device_allocator(int device) { return std::make_shared<DeviceAllocator>(device); }

std::shared_ptr<Allocator> pinned_allocator(int device) { return std::make_shared<PinnedAllocator>(device); }

}  // namespace weft::cuda
