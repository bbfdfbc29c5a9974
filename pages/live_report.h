// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "base/files.h"
#include "base/process/task_thread.h"

namespace weft {

// Keeps RUN/report.html up to date while the run trains, on a thread of its own. A page that cannot be written is one
// warning and stops nothing.
class LiveReport {
 public:
  explicit LiveReport(fs::path run);
  // Asks for a page of what the log says now, and returns at once. Requests that come while one waits are that one.
  void update();
  void finish() { thread_.finish(); }  // waits until the pages that were asked for are written

 private:
  void write();

  fs::path run_;
  std::atomic<bool> waiting_ = false;
  bool failed_ = false;  // the thread alone reads and writes it
  TaskThread thread_;
};

}  // namespace weft
