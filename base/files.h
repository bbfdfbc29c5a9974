// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace weft {

namespace fs = std::filesystem;

// An open file descriptor; closes on destruction (errors at close are logged: use sync() where they matter). A
// momentary failure to open or read a file for reading is tried again, for as long as `patience`, on the file of that
// name then.
class File {
 public:
  // New makes a file of a name that must be free. Create and ReadWrite make it if it is missing, and Create empties it.
  // Those that may write follow no link at the name itself: somebody else may have put it there.
  enum class Mode { Read, New, Create, ReadWrite };
  static constexpr std::chrono::milliseconds kPatience{30000};
  File(fs::path path, Mode mode, std::chrono::milliseconds patience = kPatience);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  File(const File&) = delete;

  uint64_t size() const;
  void read_at(uint64_t offset, void* into, size_t bytes) const;   // all of it, or DataError (truncated), IoError
  void write_at(uint64_t offset, const void* from, size_t bytes);  // all of it, or DataError (ENOSPC names the path)
  void append(std::string_view bytes);
  void resize(uint64_t bytes);
  void sync();  // fsync
  // The first starts writing these bytes to the disk, the second waits until they are written; on a file system that
  // cannot do that for a range, both sync the whole file. Nothing is durable before sync(), which then has less to do.
  void start_writing_back(uint64_t offset, uint64_t bytes);
  void finish_writing_back(uint64_t offset, uint64_t bytes);
  int descriptor() const { return descriptor_; }
  const fs::path& path() const { return path_; }

 private:
  void write_back(uint64_t offset, uint64_t bytes, unsigned flags);
  fs::path path_;
  std::chrono::milliseconds patience_{0};
  int descriptor_ = -1;
};

// All bytes of a regular file. DataError if it is something else, which could have no end, or has more than
// `most_bytes`: the largest files that are read whole are logs of metrics, with some hundred bytes for each step.
std::string read_file(const fs::path& path, uint64_t most_bytes = uint64_t{4} << 30);

// Writes a NewFile (base/files/new_file.h): readers see the old file or the new one, whole and synced.
void write_file_atomically(const fs::path& path, std::string_view bytes);
void sync_directory(const fs::path& directory);
// Creates the missing directories of the path, and syncs their parents. DataError on failure.
void create_directories_durably(const fs::path& directory);
// rename(2) and fsync of the parent directory.
void rename_durably(const fs::path& from, const fs::path& to);
// Whether this path names the open file itself: false once it was renamed, removed or replaced, and for a link to it.
bool has_name(int descriptor, const fs::path& path);
uint64_t free_bytes(const fs::path& directory);

}  // namespace weft
