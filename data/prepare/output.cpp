// SPDX-License-Identifier: Apache-2.0
#include "data/prepare/output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "base/error.h"
#include "base/files/new_file.h"
#include "data/prepare/journal.h"

namespace weft {

namespace {

// The files of the dataset in `directory`. Empty if no dataset can be read: then no file is known to belong to one.
std::set<std::string> old_files(const fs::path& directory) {
  try {
    return files_of(read_manifest(directory));
  } catch (const DataError&) {
    return {};
  }
}

}  // namespace

OutputDirectory::OutputDirectory(fs::path path) : path_(std::move(path)), staging_(path_ / kStagingName) {
  made_ = !fs::exists(path_);
  create_directories_durably(path_);
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) throw_errno("open", path_);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw DataError(path_.string() + " is being prepared by another process", "wait for it to end");
  }
  try {
    make_staging();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

void OutputDirectory::make_staging() const {
  if (::mkdir(staging_.c_str(), 0700) == 0) return;
  if (errno != EEXIST) throw_errno("create", staging_);
  struct stat info {};
  if (::lstat(staging_.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid()) return;
  throw DataError(staging_.string() + " is no directory of this user's; unfinished files are kept there", "remove it");
}

OutputDirectory::~OutputDirectory() {
  if (!committed_) {
    clear();
    std::error_code ignored;
    fs::remove(staging_, ignored);
    if (made_) fs::remove(path_, ignored);  // fails unless the directory is empty
  }
  ::close(descriptor_);
}

void OutputDirectory::clear(const std::set<std::string>& kept) const {
  std::error_code ignored;
  for (fs::directory_iterator at(staging_, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename();
    const bool staged = name == kJournalName || name.ends_with(".h5.tmp") || name.ends_with(".json.tmp");
    if (staged && !kept.contains(name)) fs::remove(at->path(), ignored);
  }
  remove_unfinished(staging_ / kJournalName);
}

void OutputDirectory::stage(const std::string& name, std::string_view bytes) {
  File file(staging_ / (name + ".tmp"), File::Mode::Create);
  file.write_at(0, bytes.data(), bytes.size());
  file.sync();
}

void OutputDirectory::commit(const Manifest& manifest) {
  const std::set<std::string> before = old_files(path_);
  const std::set<std::string> now = files_of(manifest);
  stage(kManifestName, manifest_text(manifest));  // the last write that needs space, while the old dataset is complete
  const fs::path manifest_path = path_ / kManifestName;
  fs::remove(manifest_path);
  sync_directory(path_);
  for (const std::string& name : now) fs::rename(staging_ / (name + ".tmp"), path_ / name);
  std::error_code ignored;
  fs::remove(staging_ / kJournalName, ignored);
  sync_directory(path_);
  rename_durably(staging_ / (std::string(kManifestName) + ".tmp"), manifest_path);
  committed_ = true;
  fs::remove(staging_, ignored);
  for (const std::string& name : before) {
    if (!now.contains(name)) fs::remove(path_ / name, ignored);
  }
}

void clear_after_commit(const fs::path& path) {
  const fs::path staging = path / kStagingName;
  if (!fs::is_directory(fs::symlink_status(staging)) || fs::exists(staging / kJournalName)) return;
  try {
    const OutputDirectory uncommitted(path);  // clears when it goes
  } catch (const Error&) {  // another process is at work here, or the folder is not this user's: it stays
  }
}

}  // namespace weft
