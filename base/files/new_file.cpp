// SPDX-License-Identifier: Apache-2.0
#include "base/files/new_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <utility>

#include "base/error.h"

namespace weft {
namespace {

constexpr size_t kRandomDigits = 8;

fs::path directory_of(const fs::path& name) { return name.has_parent_path() ? name.parent_path() : fs::path("."); }

std::string prefix_of(const fs::path& name) { return fmt::format(".{}.weft-", name.filename().string()); }

bool is_named_by_weft(const std::string& entry, const std::string& prefix) {
  return entry.size() == prefix.size() + kRandomDigits && entry.starts_with(prefix) &&
         entry.find_first_not_of("0123456789abcdef", prefix.size()) == std::string::npos;
}

// A folder that is missing is told with the name that was asked for.
void require_directory_of(const fs::path& name) {
  struct stat info {};
  if (::stat(directory_of(name).c_str(), &info) != 0) throw_errno("open", name);
  if (S_ISDIR(info.st_mode)) return;
  errno = ENOTDIR;
  throw_errno("open", name);
}

// Removes a file that this user's killed process left. Its writer would hold a lock; where nothing can be locked,
// nothing is removed.
void remove_abandoned(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && has_name(descriptor, path)) ::unlink(path.c_str());
  ::close(descriptor);
}

void remove_all_abandoned(const fs::path& directory, const std::string& prefix) {
  std::error_code ignored;
  for (fs::directory_iterator at(directory, ignored), end; at != end; at.increment(ignored)) {
    if (is_named_by_weft(at->path().filename(), prefix)) remove_abandoned(at->path());
  }
}

// The file is locked as long as it is open. A process that cleans up may have come between open() and the lock; then
// another is made. Each attempt fails where a file system gives an open file another inode number at each question.
File make(const fs::path& directory, const std::string& prefix) {
  constexpr int kAttempts = 100;
  std::random_device random;
  for (int i = 0; i < kAttempts; ++i) {
    const fs::path path = directory / (prefix + fmt::format("{:0{}x}", uint32_t{random()}, kRandomDigits));
    if (std::error_code error; fs::exists(fs::symlink_status(path, error))) continue;
    File file(path, File::Mode::New);
    const bool taken = ::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken && has_name(file.descriptor(), path)) return file;
  }
  throw DataError(fmt::format("{}: no new file here keeps its name: each of {} was another file, or none, at once",
                              directory.empty() ? "." : directory.string(), kAttempts),
                  "write to a directory on another file system");
}

}  // namespace

NewFile::NewFile(fs::path name)
    : name_(std::move(name)), file_([&] {
        require_directory_of(name_);
        remove_all_abandoned(directory_of(name_), prefix_of(name_));
        return make(name_.parent_path(), prefix_of(name_));
      }()) {}

NewFile::~NewFile() {
  if (!committed_ && has_name(file_.descriptor(), file_.path())) ::unlink(file_.path().c_str());
}

void NewFile::commit() {
  file_.sync();
  require<DataError>(has_name(file_.descriptor(), file_.path()), "{}: another process removed {}", name_.string(),
                     file_.path().string());
  rename_durably(file_.path(), name_);
  committed_ = true;
}

void remove_unfinished(const fs::path& name) { remove_all_abandoned(directory_of(name), prefix_of(name)); }

File unnamed_file(const fs::path& directory) {
  File file = make(directory, ".weft-");
  ::unlink(file.path().c_str());
  return file;
}

}  // namespace weft
