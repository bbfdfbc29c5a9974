// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdlib>

#include "base/process/huge_pages.h"
#include "kernels/memory.h"

namespace weft {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kLargeStep = size_t{512} << 10;

class HostAllocator : public Allocator {
 public:
  Device device() const override { return {DeviceKind::Cpu}; }

  // Sizes are rounded to eighths of a power of two; those of large blocks, such as weights and moments, to 512 KiB.
  size_t block_size(size_t bytes) const override {
    const size_t least = std::max<size_t>(bytes, 512);
    const size_t step = std::clamp<size_t>(std::bit_floor(least) / 8, kAlignment, kLargeStep);
    return (least + step - 1) / step * step;
  }

  // Large blocks lie on huge pages if the system has them: passes over weights then miss fewer address translations.
  MemoryBlock allocate(size_t size) override {
    const bool huge = size >= kHugePage;
    void* memory = nullptr;
    if (posix_memalign(&memory, huge ? kHugePage : kAlignment, size) != 0) return {};
    if (huge) advise_huge_pages(memory, size);
    auto* address = static_cast<std::byte*>(memory);
    return {.address = address, .reach = address, .bytes = size};
  }

  void release(const MemoryBlock& block) noexcept override { std::free(block.address); }
};

}  // namespace

std::shared_ptr<Allocator> host_allocator() { return std::make_shared<HostAllocator>(); }

}  // namespace weft
