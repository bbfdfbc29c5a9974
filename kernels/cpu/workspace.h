// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "base/error.h"

namespace weft::cpu {

// Memory that grows to the largest request and stays: no later request allocates.
class Workspace {
 public:
  void* at_least(size_t bytes) {
    if (bytes > size_) {
      size_ = 0;
      data_.reset(std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment));
      require<InternalError>(data_ != nullptr, "out of memory: {} bytes for a matrix product", bytes);
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  static constexpr size_t kAlignment = 64;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

}  // namespace weft::cpu
