// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "kernels/tensor.h"

namespace weft {

// Allocates a device's memory. Thread-safe: a block may be released by another thread than the one that allocated it.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual Device device() const = 0;
  // The size of the block for a request of `bytes`.
  virtual size_t block_size(size_t bytes) const = 0;
  virtual MemoryBlock allocate(size_t block_size) = 0;  // a block without an address if out of memory
  virtual void release(const MemoryBlock& block) noexcept = 0;
  // Bytes that the device has free, in blocks of any size; the largest number where it does not say.
  virtual size_t free_bytes() const { return std::numeric_limits<size_t>::max(); }
};

// The host's memory, with huge pages for large blocks. The CPU's tensors lie in it.
std::shared_ptr<Allocator> host_allocator();
// For the dry device: blocks have the sizes that `planned` would give them, and no address.
std::shared_ptr<Allocator> planned_allocator(std::shared_ptr<const Allocator> planned);

// The use of a pool's memory, in bytes.
struct MemoryUse {
  size_t tensors = 0;  // requested by live tensors
  size_t lent = 0;     // blocks of live tensors
  size_t cached = 0;   // free blocks kept for reuse
  size_t peak = 0;     // maximum of held() since reset_peak()
  size_t held() const { return lent + cached; }
};

// Lends blocks of memory and takes them back for reuse: after the first steps a training step allocates nothing on its
// device. Thread-safe, because a checkpoint's thread may release a tensor.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // When the pool returns free blocks to its allocator: to make room for a request, only when the pool ends, or at
  // once. At once, a block has the size of its tensor, and on the host begins as NaN.
  enum class GivesBack : uint8_t { ForRoom, AtItsEnd, AtOnce };
  explicit MemoryPool(std::shared_ptr<Allocator> allocator, GivesBack gives_back = GivesBack::ForRoom);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  Device device() const;
  // MemoryError if the device is out of memory, even after the pool has returned the blocks kept for reuse.
  std::shared_ptr<Storage> allocate(size_t bytes);
  MemoryUse use() const;
  // Bytes that more tensors may have: blocks kept for reuse, and what the device has free.
  size_t room() const;
  void reset_peak();

 private:
  friend class Storage;
  friend class BorrowingAllocator;
  struct Blocks;
  MemoryBlock lend(size_t bytes);
  void take_back(const MemoryBlock& block, size_t bytes) noexcept;

  std::unique_ptr<Blocks> blocks_;
};

// What WEFT_MEMORY_POOL asks of the pools of contexts: "on", ForRoom, which is the default, or "off", AtOnce. Off,
// checkers of memory see each tensor for itself (compute-sanitizer, the address sanitizer, the simulated device): a
// read behind its end, of what nothing has written, or after it is gone. ConfigError for another word.
MemoryPool::GivesBack pooling_asked_for();

// A pool that borrows its blocks from `pool` and returns them when it ends: until then no other tensor is put into
// memory that the new pool has had. `pool` counts the blocks as lent.
std::shared_ptr<MemoryPool> make_pool_within(std::shared_ptr<MemoryPool> pool);

}  // namespace weft
