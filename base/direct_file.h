// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/files.h"

namespace weft {

// A file that is written past the page cache (O_DIRECT): no processor copies the bytes, and none has to write them back
// later. If other work uses all processors, large writes are faster this way and slow that work less. Not every file
// system supports it, and only whole pages can be written: write_at() returns how many bytes it wrote.
class DirectFile {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t in_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  // The file must exist.
  explicit DirectFile(fs::path path);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // Writes the whole pages at the beginning of the bytes, if memory and offset are aligned to pages. Returns the bytes
  // written; 0 if the file system does not support it. DataError if the disk fails (EIO).
  size_t write_at(uint64_t offset, const std::byte* from, size_t bytes);

 private:
  fs::path path_;
  int descriptor_ = -1;  // -1: the file system does not support O_DIRECT
};

}  // namespace weft
