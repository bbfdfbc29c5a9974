// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "base/process/task_thread.h"

namespace weft {

// A file of the run directory that only grows. A thread of its own appends each record with a single write, so that a
// kill leaves at most one partial record, at the end. A failure to write is logged once and never stops training: the
// log tries again with every later record.
class AppendLog {
 public:
  // `what` names the file's records in messages: "metrics". An existing file is kept up to the offset that `whole`
  // returns. Without a file that can be opened, a warning is logged and nothing is written.
  AppendLog(std::string what, const fs::path& path, const std::function<uint64_t(const File&)>& whole);
  ~AppendLog();  // waits until all records are written
  void append(int64_t step, std::string record);
  void finish();  // waits until all records are written
  // Calls `work` on the log's thread once the records so far are written. It must be quick, and not throw.
  void then(std::function<void()> work) { thread_.add(std::move(work)); }
  bool open() const { return file_ != nullptr; }

 private:
  void write(int64_t step, const std::string& record);

  std::string what_;
  std::unique_ptr<File> file_;
  bool failing_ = false;
  TaskThread thread_;  // the members above are its own once the log is open
};

}  // namespace weft
