// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

#include "base/error.h"
#include "base/files.h"

namespace weft::test {

// A file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes) : descriptor_(memfd_create("fuzzed", MFD_CLOEXEC)) {
    require<InternalError>(descriptor_ >= 0, "no file in memory");
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    require<InternalError>(written == static_cast<ssize_t>(bytes.size()), "not written");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  fs::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace weft::test
