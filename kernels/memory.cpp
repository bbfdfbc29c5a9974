// SPDX-License-Identifier: Apache-2.0
#include "kernels/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace weft {
namespace {

// The largest free block that may serve a request. Steps of ragged text, whose shapes always differ, so reuse each
// other's blocks, and a lent block wastes at most half the bytes requested.
size_t largest_fit(size_t size) { return size + size / 2; }

class PlannedAllocator : public Allocator {
 public:
  explicit PlannedAllocator(std::shared_ptr<const Allocator> planned) : planned_(std::move(planned)) {}
  Device device() const override { return {DeviceKind::Meta}; }
  size_t block_size(size_t bytes) const override { return planned_->block_size(bytes); }
  MemoryBlock allocate(size_t block_size) override { return {.bytes = block_size}; }
  void release(const MemoryBlock&) noexcept override {}

 private:
  std::shared_ptr<const Allocator> planned_;
};

}  // namespace

std::shared_ptr<Allocator> planned_allocator(std::shared_ptr<const Allocator> planned) {
  return std::make_shared<PlannedAllocator>(std::move(planned));
}

struct MemoryPool::Blocks {
  std::mutex mutex;
  std::shared_ptr<Allocator> allocator;
  GivesBack gives_back;
  bool planned;                                     // blocks have no addresses
  std::map<size_t, std::vector<MemoryBlock>> free;  // free blocks by size; no list is empty
  MemoryUse use;

  Blocks(std::shared_ptr<Allocator> from, GivesBack when)
      : allocator(std::move(from)), gives_back(when), planned(allocator->device().kind == DeviceKind::Meta) {}
  ~Blocks() { release(); }

  MemoryBlock pop(std::map<size_t, std::vector<MemoryBlock>>::iterator at) {
    const MemoryBlock block = at->second.back();
    at->second.pop_back();
    use.cached -= block.bytes;
    if (at->second.empty()) free.erase(at);
    return block;
  }
  // Called before a new block is allocated: releases a free block that is slightly too small, so that blocks grow
  // instead of adding up.
  void make_way_for(size_t size) {
    auto at = free.lower_bound(size);
    if (at == free.begin() || largest_fit((--at)->first) < size) return;
    allocator->release(pop(at));
  }
  // Returns the blocks kept for reuse to the device.
  void release() {
    for (auto& [size, list] : free) {
      for (const MemoryBlock& block : list) allocator->release(block);
    }
    free.clear();
    use.cached = 0;
  }
  size_t size_for(size_t bytes) const {
    return gives_back == GivesBack::AtOnce ? std::max<size_t>(bytes, 1) : allocator->block_size(bytes);
  }
  MemoryBlock take(size_t size) {
    if (const auto at = free.lower_bound(size); at != free.end() && at->first <= largest_fit(size)) return pop(at);
    const bool for_room = gives_back == GivesBack::ForRoom;
    if (for_room) make_way_for(size);
    MemoryBlock block = allocator->allocate(size);
    if (!block.address && !planned && for_room) {
      release();
      block = allocator->allocate(size);
    }
    require<MemoryError>(block.address || planned, "out of memory: {} bytes requested, {} in use", size, use.lent);
    if (gives_back == GivesBack::AtOnce && allocator->device().kind == DeviceKind::Cpu) {
      std::memset(block.reach, 0xff, block.bytes);  // NaN in every type of floats
    }
    return block;
  }
};

MemoryPool::MemoryPool(std::shared_ptr<Allocator> allocator, GivesBack gives_back)
    : blocks_(std::make_unique<Blocks>(std::move(allocator), gives_back)) {}

MemoryPool::~MemoryPool() = default;

Device MemoryPool::device() const { return blocks_->allocator->device(); }

MemoryBlock MemoryPool::lend(size_t bytes) {
  const std::lock_guard lock(blocks_->mutex);
  const MemoryBlock block = blocks_->take(blocks_->size_for(bytes));
  MemoryUse& use = blocks_->use;
  use.tensors += bytes;
  use.lent += block.bytes;
  use.peak = std::max(use.peak, use.held());
  return block;
}

std::shared_ptr<Storage> MemoryPool::allocate(size_t bytes) {
  return std::make_shared<Storage>(shared_from_this(), lend(bytes), bytes);
}

void MemoryPool::take_back(const MemoryBlock& block, size_t bytes) noexcept {
  const std::lock_guard lock(blocks_->mutex);
  blocks_->use.tensors -= bytes;
  blocks_->use.lent -= block.bytes;
  if (blocks_->gives_back == GivesBack::AtOnce) return blocks_->allocator->release(block);
  blocks_->use.cached += block.bytes;
  blocks_->free[block.bytes].push_back(block);
}

MemoryUse MemoryPool::use() const {
  const std::lock_guard lock(blocks_->mutex);
  return blocks_->use;
}

size_t MemoryPool::room() const {
  const std::lock_guard lock(blocks_->mutex);
  const size_t most = std::numeric_limits<size_t>::max(), free = blocks_->allocator->free_bytes();
  return free > most - blocks_->use.cached ? most : free + blocks_->use.cached;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(blocks_->mutex);
  blocks_->use.peak = blocks_->use.held();
}

MemoryPool::GivesBack pooling_asked_for() {
  const char* word = std::getenv("WEFT_MEMORY_POOL");
  const std::string_view asked = word ? word : "";
  if (asked == "off") return MemoryPool::GivesBack::AtOnce;
  require<ConfigError>(asked.empty() || asked == "on", "WEFT_MEMORY_POOL={}: it is on or off", asked);
  return MemoryPool::GivesBack::ForRoom;
}

// Borrows whole blocks from a pool, which counts all their bytes as tensors.
class BorrowingAllocator : public Allocator {
 public:
  explicit BorrowingAllocator(std::shared_ptr<MemoryPool> from) : from_(std::move(from)) {}
  Device device() const override { return from_->device(); }
  size_t block_size(size_t bytes) const override { return from_->blocks_->allocator->block_size(bytes); }
  MemoryBlock allocate(size_t size) override {
    const MemoryBlock block = from_->lend(size);
    const std::lock_guard lock(from_->blocks_->mutex);
    from_->blocks_->use.tensors += block.bytes - size;
    return block;
  }
  void release(const MemoryBlock& block) noexcept override { from_->take_back(block, block.bytes); }

 private:
  std::shared_ptr<MemoryPool> from_;
};

std::shared_ptr<MemoryPool> make_pool_within(std::shared_ptr<MemoryPool> pool) {
  return std::make_shared<MemoryPool>(std::make_shared<BorrowingAllocator>(std::move(pool)),
                                      MemoryPool::GivesBack::AtItsEnd);
}

}  // namespace weft
