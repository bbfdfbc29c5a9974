// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/log.h"

namespace weft {
namespace {

// Waits between tries of a call that has failed for a moment, longer each time.
class Retry {
 public:
  Retry(const char* call, const fs::path& path, std::chrono::milliseconds patience)
      : call_(call), path_(path), patience_(patience) {}

  // errno says why the call failed. Throws that, if it is not momentary or was tried for long enough.
  void wait_or_throw() {
    if (!is_momentary(errno) || waited_ >= patience_) throw_errno(call_, path_);
    if (waited_ == std::chrono::milliseconds(0)) {
      log_warning("{} {}: {}; trying again for {} s", call_, path_.string(), std::strerror(errno),
                  std::chrono::duration_cast<std::chrono::seconds>(patience_).count());
    }
    const auto time = std::min(patience_ - waited_, next_);
    std::this_thread::sleep_for(time);
    waited_ += time;
    next_ = std::min(2 * next_, std::chrono::milliseconds(5000));
  }

 private:
  const char* call_;
  const fs::path& path_;
  std::chrono::milliseconds patience_, waited_{0}, next_{50};
};

// What a path names if that is no file; null for a file, and for what open() reports better.
const char* other_kind(fs::file_type type) {
  if (type == fs::file_type::directory) return "a directory";
  if (type == fs::file_type::fifo) return "a pipe";
  if (type == fs::file_type::character || type == fs::file_type::block) return "a device";
  return nullptr;
}

}  // namespace

File::File(fs::path path, Mode mode, std::chrono::milliseconds patience) : path_(std::move(path)) {
  int flags = O_CLOEXEC;
  switch (mode) {
    case Mode::Read:
      flags |= O_RDONLY;
      break;
    case Mode::New:
      flags |= O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
      break;
    case Mode::Create:
      flags |= O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW;
      break;
    case Mode::ReadWrite:
      flags |= O_RDWR | O_CREAT | O_NOFOLLOW;
      break;
  }
  if (mode == Mode::Read) patience_ = patience;
  Retry retry("open", path_, patience_);
  while ((descriptor_ = ::open(path_.c_str(), flags, 0644)) < 0) {
    if (errno == ELOOP && mode != Mode::Read && fs::is_symlink(path_)) {
      throw DataError(path_.string() + " is a link; weft would write to where it points", "remove the link");
    }
    retry.wait_or_throw();
  }
}

File::~File() {
  if (descriptor_ >= 0 && ::close(descriptor_) != 0) log_error("close {}: failed", path_.string());
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), patience_(other.patience_), descriptor_(std::exchange(other.descriptor_, -1)) {}

uint64_t File::size() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0) throw_errno("stat", path_);
  return static_cast<uint64_t>(info.st_size);
}

// After a momentary failure the file is opened again under the same number, since a server that was away may not know
// the descriptor any more.
void File::read_at(uint64_t offset, void* into, size_t bytes) const {
  auto* at = static_cast<char*>(into);
  Retry retry("read", path_, patience_);
  while (bytes > 0) {
    const ssize_t n = ::pread(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      retry.wait_or_throw();
      const int again = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
      if (again < 0) continue;
      ::dup3(again, descriptor_, O_CLOEXEC);
      ::close(again);
      continue;
    }
    require<DataError>(n > 0, "read {}: the file ends at byte {}, {} more were expected", path_.string(), offset,
                       bytes);
    at += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<size_t>(n);
  }
}

void File::write_at(uint64_t offset, const void* from, size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = ::pwrite(descriptor_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("write", path_);
    require<DataError>(n > 0, "write {}: nothing more was taken at byte {}, {} are left", path_.string(), offset,
                       bytes);
    at += n, offset += static_cast<uint64_t>(n), bytes -= static_cast<size_t>(n);
  }
}

void File::append(std::string_view bytes) { write_at(size(), bytes.data(), bytes.size()); }

void File::resize(uint64_t bytes) {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw_errno("resize", path_);
}

void File::sync() {
  if (::fsync(descriptor_) != 0) throw_errno("fsync", path_);
}

void File::write_back(uint64_t offset, uint64_t bytes, unsigned flags) {
  if (::sync_file_range(descriptor_, static_cast<off64_t>(offset), static_cast<off64_t>(bytes), flags) == 0) return;
  if (errno != ENOSYS && errno != EINVAL && errno != EOPNOTSUPP) throw_errno("write back", path_);
  if (::fdatasync(descriptor_) != 0) throw_errno("fdatasync", path_);
}

void File::start_writing_back(uint64_t offset, uint64_t bytes) { write_back(offset, bytes, SYNC_FILE_RANGE_WRITE); }

void File::finish_writing_back(uint64_t offset, uint64_t bytes) {
  write_back(offset, bytes, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

std::string read_file(const fs::path& path, uint64_t most_bytes) {
  std::error_code ignored;
  // To open a FIFO would wait for a writer, and to open a device may do more than that.
  if (const char* kind = other_kind(fs::status(path, ignored).type())) {
    throw DataError(fmt::format("{} is {}, not a file", path.string(), kind), "name a regular file");
  }
  const File file(path, File::Mode::Read);
  const uint64_t size = file.size();
  if (size > most_bytes) {
    throw DataError(fmt::format("{} has {} bytes; at most {} are read of such a file", path.string(), size, most_bytes),
                    "is it the right file?");
  }
  std::string bytes(size, '\0');
  file.read_at(0, bytes.data(), bytes.size());
  return bytes;
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  NewFile made(path);
  made.file().write_at(0, bytes.data(), bytes.size());
  made.commit();
}

bool has_name(int descriptor, const fs::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

void sync_directory(const fs::path& directory) {
  const fs::path target = directory.empty() ? fs::path(".") : directory;
  const int descriptor = ::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_errno("open", target);
  const bool failed = ::fsync(descriptor) != 0;
  ::close(descriptor);
  if (failed) throw_errno("fsync", target);
}

void create_directories_durably(const fs::path& directory) {
  if (directory.empty() || fs::is_directory(directory)) return;
  create_directories_durably(directory.parent_path());
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) throw_errno("create", directory);
  require<DataError>(fs::is_directory(directory), "create {}: it is there, and no directory", directory.string());
  sync_directory(directory.parent_path());
}

void rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("rename " + from.string() + " to", to);
  sync_directory(to.parent_path());
}

uint64_t free_bytes(const fs::path& directory) {
  std::error_code error;
  const auto space = fs::space(directory.empty() ? fs::path(".") : directory, error);
  require<DataError>(!error, "free space of {}: {}", directory.string(), error.message());
  return space.available;
}

}  // namespace weft
