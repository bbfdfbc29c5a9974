// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>

#include <string>

#include "base/error.h"
#include "base/files.h"

namespace weft::test {

// A directory that is made here and removed at the end. Its name is new, whatever other runs, users or kills have left.
class Folder {
 public:
  // The name begins with `name`.
  Folder(const fs::path& parent, const std::string& name) {
    std::string pattern = (parent / (name + "_XXXXXX")).string();
    require<DataError>(mkdtemp(pattern.data()) != nullptr, "{}: cannot be made", pattern);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace weft::test
