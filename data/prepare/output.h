// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"

namespace weft {

// The directory that a dataset is written to, locked by one writer at a time (flock on the directory, without a lock
// file). Staged files lie beside the old dataset under names ending in .tmp until commit().
class OutputDirectory {
 public:
  // Makes the directory if it is missing. DataError if another process prepares it.
  explicit OutputDirectory(fs::path path);
  // Removes staged files unless they were committed, and the directory if the constructor made it.
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  const fs::path& path() const { return path_; }
  // Removes the files that a killed preparation left, except `kept`.
  void clear(const std::set<std::string>& kept = {}) const;
  void stage(const std::string& name, std::string_view bytes);  // written and synced as NAME.tmp
  // Removes the old manifest, gives staged files and shards their names, and writes the new manifest. Then removes the
  // old dataset's files that the new one lacks.
  void commit(const Manifest& manifest);

 private:
  fs::path path_;
  int descriptor_ = -1;
  bool made_ = false;
  bool committed_ = false;
};

}  // namespace weft
