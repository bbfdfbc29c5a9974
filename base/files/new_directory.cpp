// SPDX-License-Identifier: Apache-2.0
#include "base/files/new_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"

namespace weft {
namespace {

// "runs/mean/" and "runs/mean/." are "runs/mean". What ".." means is left to the system, since links may be on the way.
fs::path without_trailing_slash(fs::path path) {
  while (path.has_relative_path() && (path.filename().empty() || path.filename() == ".")) path = path.parent_path();
  return path;
}

// For file systems without a rename that fails if the name exists: the name is taken first by an empty directory.
void take_and_replace(const fs::path& from, const fs::path& to) {
  if (::mkdir(to.c_str(), 0777) != 0) throw_errno("create", to);
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  const int error = errno;
  fs::remove(to);
  errno = error;
  throw_errno("rename " + from.string() + " to", to);
}

}  // namespace

void require_absent(const fs::path& name) {
  const fs::path plain = without_trailing_slash(name);
  require<DataError>(!fs::exists(fs::symlink_status(plain)), "{}: exists already", plain.string());
}

NewDirectory::NewDirectory(const fs::path& name) : name_(without_trailing_slash(name)) {
  require<DataError>(name_.has_filename(), "'{}' is no name for a new directory", name.string());
  require_absent(name_);
  create_directories_durably(name_.parent_path());
  std::string own = (name_.parent_path() / fmt::format(".{}.XXXXXX", name_.filename().string())).string();
  if (mkdtemp(own.data()) == nullptr) throw_errno("create", own);
  own_ = own;
  path_ = own_ / name_.filename();
  // mkdtemp() makes a directory with rights for its owner only; one inside it has the user's usual rights from the
  // start.
  if (::mkdir(path_.c_str(), 0777) == 0) return;
  const int error = errno;
  fs::remove(own_);
  errno = error;
  throw_errno("create", path_);
}

NewDirectory::~NewDirectory() {
  std::error_code ignored;
  fs::remove_all(own_, ignored);
}

void NewDirectory::commit() {
  sync_directory(path_);
  if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, name_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != ENOSYS && errno != EINVAL) throw_errno("rename " + path_.string() + " to", name_);
    take_and_replace(path_, name_);
  }
  std::error_code ignored;
  fs::remove(own_, ignored);  // before the sync, so that it does not come back if the power fails
  sync_directory(name_.parent_path());
}

}  // namespace weft
