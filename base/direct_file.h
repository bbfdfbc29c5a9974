// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/files.h"

namespace weft {

// A file that is written past the system's own memory (O_DIRECT): no processor copies the bytes, and none has to write
// them back later. Beside work that uses all processors that is what makes a large write fast, and the work not slow.
// Not every file system can do it, and none with what does not fill pages: write_at() says how much it took.
class DirectFile {
 public:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t in_pages(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

  // The file is there.
  explicit DirectFile(fs::path path);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // Writes as many of the first bytes as are whole pages, if they begin on a page here and there. Returns their number;
  // 0 where the file system cannot do it. DataError if the disk refuses (EIO).
  size_t write_at(uint64_t offset, const std::byte* from, size_t bytes);

 private:
  fs::path path_;
  int descriptor_ = -1;  // -1: the file system has no such writes
};

}  // namespace weft
