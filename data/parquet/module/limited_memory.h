// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <arrow/memory_pool.h>
#include <arrow/status.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace weft {

// The memory that Arrow may take for one file. A damaged file may ask for more than any machine has: that is an error,
// and not the end of the process.
class LimitedMemory : public arrow::MemoryPool {
 public:
  explicit LimitedMemory(int64_t most_bytes) : most_bytes_(most_bytes) {}

  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment, uint8_t** out) override {
    ARROW_RETURN_NOT_OK(grow(size));
    const arrow::Status done = system_->Allocate(size, alignment, out);
    if (!done.ok()) bytes_ -= size;
    return done;
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t** at) override {
    ARROW_RETURN_NOT_OK(grow(new_size - old_size));
    const arrow::Status done = system_->Reallocate(old_size, new_size, alignment, at);
    if (!done.ok()) bytes_ -= new_size - old_size;
    return done;
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    system_->Free(buffer, size, alignment);
    bytes_ -= size;
  }
  int64_t bytes_allocated() const override { return bytes_; }
  int64_t total_bytes_allocated() const override { return total_; }
  int64_t num_allocations() const override { return allocations_; }
  std::string backend_name() const override { return "limited"; }

 private:
  arrow::Status grow(int64_t more) {
    if (more > most_bytes_ - bytes_) {
      return arrow::Status::OutOfMemory("a page needs ", more, " bytes of memory, and ", most_bytes_ - bytes_, " of ",
                                        most_bytes_, " are left");
    }
    bytes_ += more, total_ += std::max(more, int64_t{0}), ++allocations_;
    return arrow::Status::OK();
  }

  arrow::MemoryPool* const system_ = arrow::system_memory_pool();
  const int64_t most_bytes_;
  int64_t bytes_ = 0, total_ = 0, allocations_ = 0;
};

}  // namespace weft
