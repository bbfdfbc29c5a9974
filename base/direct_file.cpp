// SPDX-License-Identifier: Apache-2.0
#include "base/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace weft {

DirectFile::DirectFile(fs::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  if (descriptor_ < 0 && errno != EINVAL && errno != EOPNOTSUPP) throw_errno("open", path_);
}

DirectFile::~DirectFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// On a full disk the rest is left to the caller's ordinary write, which throws the error.
size_t DirectFile::write_at(uint64_t offset, const std::byte* from, size_t bytes) {
  const bool on_a_page = offset % kPage == 0 && reinterpret_cast<uintptr_t>(from) % kPage == 0;
  if (descriptor_ < 0 || !on_a_page) return 0;
  const size_t whole = bytes / kPage * kPage;
  size_t done = 0;
  while (done < whole) {
    const ssize_t n = ::pwrite(descriptor_, from + done, whole - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EIO) throw_errno("write", path_);
    const size_t pages = n < 0 ? 0 : static_cast<size_t>(n) / kPage * kPage;
    done += pages;
    if (pages == 0) break;
  }
  return done;
}

}  // namespace weft
