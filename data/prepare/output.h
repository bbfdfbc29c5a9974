// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "data/dataset/manifest.h"

namespace weft {

inline constexpr const char* kStagingName = ".weft-preparation";

// The directory that a dataset is written to, locked by one writer at a time (flock on the directory, without a lock
// file). Until commit() staged files are in a directory of this user's below it, where nothing else is: what others
// keep beside a dataset is never removed.
class OutputDirectory {
 public:
  // Makes the directory if it is missing. DataError if another process prepares it.
  explicit OutputDirectory(fs::path path);
  // Removes staged files unless they were committed, and the directory if the constructor made it.
  ~OutputDirectory();
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;

  const fs::path& staging() const { return staging_; }
  // Removes the files that a killed preparation left, except `kept`.
  void clear(const std::set<std::string>& kept = {}) const;
  void stage(const std::string& name, std::string_view bytes);  // written and synced as NAME.tmp
  // Removes the old manifest, which must be weft's, gives staged files and shards their names, and writes the new
  // manifest. Then removes the old dataset's files that the new one lacks.
  void commit(const Manifest& manifest);

 private:
  void make_staging() const;
  fs::path path_, staging_;
  int descriptor_ = -1;
  bool made_ = false;
  bool committed_ = false;
};

// Removes the folder that a preparation left which was killed behind its commit. Not that of an unfinished one, which
// has a journal, nor of one that is under way.
void clear_after_commit(const fs::path& path);

}  // namespace weft
