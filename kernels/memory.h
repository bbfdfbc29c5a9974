// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/tensor.h"

namespace weft {

// Where a device's memory comes from. Thread-safe: a block may go on another thread than it came on.
class Allocator {
 public:
  virtual ~Allocator() = default;
  virtual Device device() const = 0;
  // The size of the block that serves a request.
  virtual size_t block_size(size_t bytes) const = 0;
  virtual MemoryBlock allocate(size_t block_size) = 0;  // one without an address if there is no memory
  virtual void release(const MemoryBlock& block) noexcept = 0;
};

// The host's memory: large blocks on huge pages. Also what the CPU's tensors lie in.
std::shared_ptr<Allocator> host_allocator();
// What an allocator would do, without memory: its blocks have sizes and no address. For the dry device.
std::shared_ptr<Allocator> planned_allocator(std::shared_ptr<const Allocator> planned);

// In bytes. What a rank holds of its device is lent + cached.
struct MemoryUse {
  size_t tensors = 0;  // asked for by live tensors
  size_t lent = 0;     // the blocks that they lie in
  size_t cached = 0;   // blocks kept for reuse
  size_t peak = 0;     // the most that was held at once since reset_peak()
  size_t held() const { return lent + cached; }
};

// Lends blocks of memory and takes them back for reuse: after the first steps a training step asks its device for
// nothing. Thread-safe, since a tensor may be released by a checkpoint's thread.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  // What it keeps it may give back to make room for what is asked for, or only when it ends.
  enum class GivesBack : uint8_t { ForRoom, AtItsEnd };
  explicit MemoryPool(std::shared_ptr<Allocator> allocator, GivesBack gives_back = GivesBack::ForRoom);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  Device device() const;
  // MemoryError if the device has no such block, not even without those that were kept for reuse.
  std::shared_ptr<Storage> allocate(size_t bytes);
  MemoryUse use() const;
  void reset_peak();

 private:
  friend class Storage;
  friend class BorrowingAllocator;
  struct Blocks;
  MemoryBlock lend(size_t bytes);
  void take_back(const MemoryBlock& block, size_t bytes) noexcept;

  std::unique_ptr<Blocks> blocks_;
};

// A pool whose blocks another one lends it, until it ends: nothing else is put into memory that it ever had. In the use
// of the other pool its blocks count as lent.
std::shared_ptr<MemoryPool> make_pool_within(std::shared_ptr<MemoryPool> pool);

}  // namespace weft
