// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"

namespace weft {

// The owner of a run directory, as the lock file names it.
struct RunOwner {
  std::string host;
  int64_t pid = 0;
  std::string job;  // the id that the scheduler gave this process; "" without a scheduler
  int64_t attempt = 0;
  std::string since;  // UTC, as 2026-01-31T12:00:00Z
  static RunOwner this_process(int64_t attempt);
};

// The lock that makes a run the only owner of its directory: an open-file-description lock (fcntl) on DIR/run.lock. The
// kernel, or the server of a network file system, frees it when the process that holds it ends, however it ends. The
// destructor removes the file; a file that a killed process has left behind locks nothing.
class RunLock {
 public:
  // Returns null if another process holds the lock. Makes the directory if it does not exist; the destructor then
  // removes it if it is still empty. DataError if the directory or file cannot be made. On a file system without locks
  // it warns and locks nothing.
  static std::unique_ptr<RunLock> try_take(const fs::path& directory);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // False once the directory was renamed or removed: what lies at its path then belongs to somebody else, or to nobody.
  bool is_ours() const;
  // Names the owner in the lock file, for describe_owner(). The lock holds even if the file cannot be written.
  void write(const RunOwner& owner);

 private:
  RunLock(fs::path path, std::unique_ptr<File> file, std::vector<fs::path> made)
      : path_(std::move(path)), file_(std::move(file)), made_(std::move(made)) {}
  fs::path path_;
  std::unique_ptr<File> file_;
  std::vector<fs::path> made_;  // directories that did not exist before, outermost first
};

// Whether a process holds the lock of a run directory. False too where locks cannot be seen.
bool is_owned(const fs::path& directory);

// The owner of the directory in words: "attempt 2, process 4711 on node7, job 1234, since 2026-01-31T12:00:00Z".
std::string describe_owner(const fs::path& directory);

}  // namespace weft
