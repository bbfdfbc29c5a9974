// SPDX-License-Identifier: Apache-2.0
#include "tests/support/guarded_context.h"

#include <sys/mman.h>

#include <cstring>

#include "kernels/cpu/cpu_backend.h"

namespace weft::test {
namespace {

class GuardedAllocator : public Allocator {
 public:
  Device device() const override { return {DeviceKind::Guarded}; }
  size_t block_size(size_t bytes) const override { return memory_->block_size(bytes); }

  MemoryBlock allocate(size_t size) override {
    MemoryBlock block = memory_->allocate(size);
    if (!block.address) return block;
    std::memset(block.reach, 0xff, size);
    void* closed = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require<InternalError>(closed != MAP_FAILED, "no room for a guarded view of {} bytes", size);
    block.address = static_cast<std::byte*>(closed);
    return block;
  }

  void release(const MemoryBlock& block) noexcept override {
    munmap(block.address, block.bytes);
    memory_->release({.address = block.reach, .reach = block.reach, .bytes = block.bytes});
  }

 private:
  std::shared_ptr<Allocator> memory_ = host_allocator();
};

}  // namespace

std::unique_ptr<Context> guarded_context(int threads) {
  auto backend = std::make_unique<cpu::CpuBackend>(threads, std::make_shared<GuardedAllocator>());
  return std::make_unique<Context>(threads, std::move(backend));
}

}  // namespace weft::test
