// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files.h"

namespace weft {

// A file that takes its name when it is whole. Until commit() it is beside it as .NAME.weft-XXXXXXXX, a name that
// nobody had and no link is followed at; without commit() the destructor removes it. The next one for this name removes
// what a killed weft left: files of such a name and this user that no process holds a lock on. Nothing else is removed.
class NewFile {
 public:
  explicit NewFile(fs::path name);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  File& file() { return file_; }
  // Syncs the file and renames it, over a file of this name too, and syncs the directory.
  void commit();

 private:
  fs::path name_;
  File file_;
  bool committed_ = false;
};

// Removes what killed wefts left of this name, as its next NewFile would, where there may be no next one.
void remove_unfinished(const fs::path& name);

// A file without a name in this directory, which disappears with the process.
File unnamed_file(const fs::path& directory);

}  // namespace weft
