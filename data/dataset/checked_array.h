// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"

namespace weft {

// The bytes of one array of a shard. A block of kChecksumBlockBytes is compared with its checksum when something of it
// is first read: a changed bit, or a file that another one replaced, is found before it is trained on. An array without
// checksums (before kFirstPlacedVersion) is read as it is. read() may be called from many threads at once.
class CheckedArray {
 public:
  // `width`: bytes of an element. The file and `array` must outlive this.
  CheckedArray(const File& file, const ShardTokens& array, int width);
  CheckedArray(const CheckedArray&) = delete;
  CheckedArray& operator=(const CheckedArray&) = delete;

  // Reads `n` bytes from byte `first` of the array on, which must hold them. DataError if they cannot be read, or if a
  // block does not fit its checksum.
  void read(uint64_t first, char* into, size_t n) const;

 private:
  void check(size_t block) const;

  const File& file_;
  const ShardTokens& array_;
  uint64_t bytes_;
  mutable std::vector<std::atomic<bool>> checked_;
};

}  // namespace weft
