// SPDX-License-Identifier: Apache-2.0
// A library that is preloaded into the ranks of a run (LD_PRELOAD). It records what they change below a directory, and
// what they sync there, for tests/chaos/disk.py:
//   WEFT_RECORD        the file that records are added to, each in one write(2) once its call has returned
//   WEFT_RECORD_BELOW  the directory, absolute
// Records are in the order in which the calls took effect. A record is a head and, after it, the path, the other path
// of a rename or link, and what was written. Paths are relative to the directory.
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>

#include "tests/chaos/preload.h"

namespace {

using namespace weft::test;

// Also in disk.py.
struct Head {
  char call[16];  // open, truncate, write, sync, mkdir, rename, link, remove
  uint64_t offset, size, path_bytes, other_bytes;
};

class Recorder {
 public:
  Recorder() : below_(text_of("WEFT_RECORD_BELOW") + "/") {
    using Open = int (*)(const char*, int, ...);
    file_ = real<Open>("open")(text_of("WEFT_RECORD").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }

  int file() const { return file_; }

  // The path relative to the directory, "." for the directory itself; none for what is elsewhere or has no name.
  std::optional<std::string> inside(std::string path) const {
    if (file_ < 0 || has(path, " (deleted)")) return {};
    if (!path.starts_with('/')) path = path_of_here() + "/" + path;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    if (path + "/" == below_) return ".";
    if (!path.starts_with(below_)) return {};
    return path.substr(below_.size());
  }
  void add(const char* call, const std::string& path, const std::string& other = "", uint64_t offset = 0,
           const void* bytes = nullptr, uint64_t size = 0) const {
    Head head{.call = {}, .offset = offset, .size = size, .path_bytes = path.size(), .other_bytes = other.size()};
    snprintf(head.call, sizeof head.call, "%s", call);
    const std::array<iovec, 4> parts = {iovec{&head, sizeof head}, iovec{const_cast<char*>(path.data()), path.size()},
                                        iovec{const_cast<char*>(other.data()), other.size()},
                                        iovec{const_cast<void*>(bytes), bytes ? size : 0}};
    [[maybe_unused]] const ssize_t written = writev(file_, parts.data(), parts.size());
  }

 private:
  static std::string path_of_here() {
    std::array<char, 4096> path{};
    return getcwd(path.data(), path.size()) ? path.data() : "";
  }
  std::string below_;
  int file_ = -1;
};

const Recorder& recorder() {
  static const Recorder made;
  return made;
}

// Holds a call and its record together: of two threads, or two ranks, one goes after the other. A rank that creates a
// file in a folder of another would otherwise be in the record before the folder is.
class Turn {
 public:
  Turn() : lock_(mutex()) { flock(recorder().file(), LOCK_EX); }
  ~Turn() {
    const int error = errno;  // the call's
    flock(recorder().file(), LOCK_UN);
    errno = error;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex made;
    return made;
  }
  std::lock_guard<std::mutex> lock_;
};

// Calls a function that writes, and records what it wrote at which offset. Writes to elsewhere may wait long, as those
// to a pipe do, and wait for no turn.
template <class Write, class Offset>
ssize_t wrote(int file, const void* bytes, const Write& write, const Offset& offset) {
  const auto inside = recorder().inside(path_of(file));
  if (!inside) return write();
  const Turn turn;
  const ssize_t size = write();
  if (size > 0) {
    recorder().add("write", *inside, "", static_cast<uint64_t>(offset(size)), bytes, static_cast<uint64_t>(size));
  }
  return size;
}

struct Change {
  const char* call;
  std::string path, other;  // of a rename or link, the new name
  uint64_t size = 0;
};

void record(const Change& change) {
  const auto inside = recorder().inside(change.path), target = recorder().inside(change.other);
  if (!inside || (!change.other.empty() && !target)) return;
  recorder().add(change.call, *inside, target.value_or(""), 0, nullptr, change.size);
}

// Makes a call, and records the change if it succeeds. Paths are named before it, while what it removes has a name.
template <class Make>
int changed(const Change& change, const Make& make) {
  const Turn turn;
  const int result = make();
  if (result == 0) record(change);
  return result;
}

template <class Make>
int grown(int file, off64_t end, const Make& make) {
  const Turn turn;
  const int result = make();
  struct stat info {};
  if (result == 0 && fstat(file, &info) == 0 && info.st_size == end) {
    record({"truncate", path_of(file), "", static_cast<uint64_t>(end)});
  }
  return result;
}

}  // namespace

int weft::test::opened(int folder, const char* path, int flags, mode_t mode) {
  using Openat = int (*)(int, const char*, int, ...);
  static const auto next = real<Openat>("openat");
  if ((flags & (O_CREAT | O_TRUNC)) == 0 || (flags & O_TMPFILE) == O_TMPFILE) return next(folder, path, flags, mode);
  const Turn turn;
  const int file = next(folder, path, flags, mode);
  if (file < 0) return file;
  if (const auto inside = recorder().inside(path_at(folder, path))) {
    recorder().add("open", *inside);
    if ((flags & O_TRUNC) != 0) recorder().add("truncate", *inside);
  }
  return file;
}

extern "C" {

ssize_t write(int file, const void* bytes, size_t size) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t)>("write");
  return wrote(
      file, bytes, [&] { return next(file, bytes, size); },
      [&](ssize_t written) { return lseek64(file, 0, SEEK_CUR) - written; });
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) {
  static const auto next = real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return wrote(
      file, bytes, [&] { return next(file, bytes, size, offset); }, [&](ssize_t) { return offset; });
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t offset) { return pwrite(file, bytes, size, offset); }

int fsync(int file) {
  static const auto next = real<int (*)(int)>("fsync");
  return changed({"sync", path_of(file)}, [&] { return next(file); });
}
int fdatasync(int file) {
  static const auto next = real<int (*)(int)>("fdatasync");
  return changed({"sync", path_of(file)}, [&] { return next(file); });
}
int ftruncate(int file, off_t size) {
  static const auto next = real<int (*)(int, off_t)>("ftruncate");
  return changed({"truncate", path_of(file), "", static_cast<uint64_t>(size)}, [&] { return next(file, size); });
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }
int fallocate(int file, int mode, off_t offset, off_t size) {
  static const auto next = real<int (*)(int, int, off_t, off_t)>("fallocate");
  return grown(file, offset + size, [&] { return next(file, mode, offset, size); });
}
int fallocate64(int file, int mode, off64_t offset, off64_t size) { return fallocate(file, mode, offset, size); }
int posix_fallocate(int file, off_t offset, off_t size) {
  static const auto next = real<int (*)(int, off_t, off_t)>("posix_fallocate");
  return grown(file, offset + size, [&] { return next(file, offset, size); });
}
int posix_fallocate64(int file, off64_t offset, off64_t size) { return posix_fallocate(file, offset, size); }

int mkdir(const char* path, mode_t mode) {
  static const auto next = real<int (*)(const char*, mode_t)>("mkdir");
  return changed({"mkdir", path}, [&] { return next(path, mode); });
}
int mkdirat(int folder, const char* path, mode_t mode) {
  static const auto next = real<int (*)(int, const char*, mode_t)>("mkdirat");
  return changed({"mkdir", path_at(folder, path)}, [&] { return next(folder, path, mode); });
}
char* mkdtemp(char* name) {
  static const auto next = real<char* (*)(char*)>("mkdtemp");
  const Turn turn;
  char* made = next(name);
  if (made) record({"mkdir", made});
  return made;
}
int rename(const char* from, const char* to) {
  static const auto next = real<int (*)(const char*, const char*)>("rename");
  return changed({"rename", from, to}, [&] { return next(from, to); });
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static const auto next = real<int (*)(int, const char*, int, const char*, unsigned)>("renameat2");
  return changed({"rename", path_at(from_folder, from), path_at(to_folder, to)},
                 [&] { return next(from_folder, from, to_folder, to, flags); });
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  static const auto next = real<int (*)(int, const char*, int, const char*, int)>("linkat");
  return changed({"link", path_at(from_folder, from), path_at(to_folder, to)},
                 [&] { return next(from_folder, from, to_folder, to, flags); });
}
int unlink(const char* path) {
  static const auto next = real<int (*)(const char*)>("unlink");
  return changed({"remove", path}, [&] { return next(path); });
}
int unlinkat(int folder, const char* path, int flags) {
  static const auto next = real<int (*)(int, const char*, int)>("unlinkat");
  return changed({"remove", path_at(folder, path)}, [&] { return next(folder, path, flags); });
}
int rmdir(const char* path) {
  static const auto next = real<int (*)(const char*)>("rmdir");
  return changed({"remove", path}, [&] { return next(path); });
}
int remove(const char* path) {
  static const auto next = real<int (*)(const char*)>("remove");
  return changed({"remove", path}, [&] { return next(path); });
}

}  // extern "C"
