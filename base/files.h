// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace weft {

namespace fs = std::filesystem;

// An open file descriptor; closes on destruction (errors at close are logged: use sync() where they matter).
class File {
 public:
  enum class Mode { Read, Create, ReadWrite };
  File(fs::path path, Mode mode);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  File(const File&) = delete;

  uint64_t size() const;
  void read_at(uint64_t offset, void* into, size_t bytes) const;   // all of it, or DataError (truncated, EIO)
  void write_at(uint64_t offset, const void* from, size_t bytes);  // all of it, or DataError (ENOSPC names the path)
  void append(std::string_view bytes);
  void sync();  // fsync
  // Has the system begin to write these bytes to the disk, or waits until it has written them; where it cannot do that
  // for some of a file's bytes, both sync all of it. Nothing is durable before sync(), which then has little to do.
  void start_writing_back(uint64_t offset, uint64_t bytes);
  void finish_writing_back(uint64_t offset, uint64_t bytes);
  int descriptor() const { return descriptor_; }
  const fs::path& path() const { return path_; }

 private:
  void write_back(uint64_t offset, uint64_t bytes, unsigned flags);
  fs::path path_;
  int descriptor_ = -1;
};

std::string read_file(const fs::path& path);

// Writes PATH.tmp, fsyncs it, renames it to PATH, fsyncs the directory: readers see the old file or the new one.
void write_file_atomically(const fs::path& path, std::string_view bytes);
void sync_directory(const fs::path& directory);
// Makes what is missing of the path, and its names durable. DataError if it cannot.
void create_directories_durably(const fs::path& directory);
// rename(2) and fsync of the parent directory.
void rename_durably(const fs::path& from, const fs::path& to);
uint64_t free_bytes(const fs::path& directory);

}  // namespace weft
