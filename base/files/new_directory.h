// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/files.h"

namespace weft {

// DataError if the name is taken, even by a dangling link. Commands call it before they begin to work.
void require_absent(const fs::path& name);

// A directory that a command makes, whole or not at all. Its files are written below a private directory of this object
// (.NAME.XXXXXX, beside it, which no other user can enter), and commit() gives it its name, which may end in slashes.
// Without commit() the destructor removes everything but the directories above it; nothing else is ever removed,
// replaced or written through a link.
class NewDirectory {
 public:
  // Makes the directories above it too. DataError if the name exists already.
  explicit NewDirectory(const fs::path& name);
  ~NewDirectory();
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;

  const fs::path& path() const { return path_; }  // its temporary place, until commit()
  // To be called once all of its files are synced. DataError if the name has been taken meanwhile.
  void commit();

 private:
  fs::path name_, own_, path_;
};

}  // namespace weft
