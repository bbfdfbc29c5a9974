// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "base/files.h"

namespace weft {

// A file of text and the place of its bytes: a pipe can be read once, and preparation reads its input more often, so a
// pipe's bytes are copied to a file without a name.
class TextFile {
 public:
  TextFile(fs::path name) : name_(std::move(name)) {}  // NOLINT: a path is a file of text

  const fs::path& name() const { return name_; }  // name for messages
  fs::path place() const;                         // path that can be opened any number of times
  uint64_t size() const;                          // bytes on disk; 0 for a pipe that is not copied
  bool is_pipe() const;                           // true for any file without a size that cannot be read twice
  bool is_copied() const { return copy_ != nullptr; }
  // Reads a pipe to its end, into a file without a name on the file system of `directory`, or of its first
  // existing parent. Waits for the writer of the pipe. DataError if that file system is full.
  void copy_pipe(const fs::path& directory);

 private:
  fs::path name_;
  std::shared_ptr<const File> copy_;
};

}  // namespace weft
