// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/checked_array.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace weft {

CheckedArray::CheckedArray(const File& file, const ShardTokens& array, int width)
    : file_(file),
      array_(array),
      bytes_(static_cast<uint64_t>(array.count) * static_cast<uint64_t>(width)),
      checked_(array.checksums.size()) {}

void CheckedArray::check(size_t block) const {
  const uint64_t first = block * kChecksumBlockBytes, end = std::min(first + kChecksumBlockBytes, bytes_);
  std::vector<char> bytes(end - first);
  file_.read_at(array_.offset + first, bytes.data(), bytes.size());
  if (hash64({bytes.data(), bytes.size()}) != array_.checksums[block]) {
    throw DataError(
        fmt::format("{} is damaged: bytes {} to {} do not fit their checksum", file_.path().string(),
                    array_.offset + first, array_.offset + end),
        "copy the file again or prepare the dataset again; `weft inspect DIRECTORY --verify` finds all damage");
  }
  checked_[block].store(true, std::memory_order_relaxed);
}

void CheckedArray::read(uint64_t first, char* into, size_t n) const {
  const size_t end = std::min<size_t>((first + n + kChecksumBlockBytes - 1) / kChecksumBlockBytes, checked_.size());
  for (size_t block = first / kChecksumBlockBytes; block < end; ++block) {
    if (!checked_[block].load(std::memory_order_relaxed)) check(block);
  }
  file_.read_at(array_.offset + first, into, n);
}

}  // namespace weft
