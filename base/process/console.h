// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace weft {

// A state is a line that a terminal rewrites in place, until its end: only the newest one matters. A problem is a
// warning or an error, which is kept longer than other lines.
enum class ConsoleText : uint8_t { State, StateEnd, Line, Problem };

// A file, standard error in general, that people watch. It writes at once, as write_lines() does, until
// write_in_background(): from then on nobody waits for it. A terminal may stop for hours (Ctrl-S, `| less`, a suspended
// ssh client); what is written meanwhile waits in a queue for one thread. A full queue drops its oldest lines, problems
// last, and says how many once the terminal takes text again. In the background, lines and problems begin with the
// wall time: such a log is long, and is matched with others.
class Console {
 public:
  explicit Console(int file);
  // Waits for what is queued, for kLastWords at most.
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void write_in_background();
  // False if the write fails or, in the background, if an earlier one has failed: a closed pipe, a full disk.
  bool write(ConsoleText kind, std::string text);
  // Waits until the queue is written; false if that takes longer than `most`.
  bool flush(std::chrono::milliseconds most = kLastWords);

  static constexpr std::chrono::milliseconds kLastWords{3000};
  static constexpr size_t kMostQueued = 1000;

 private:
  struct Queue;
  int file_;
  // Shared with the thread, which is left alone if it is stuck in a write at the end. Null: writes at once.
  std::shared_ptr<Queue> queue_;
};

}  // namespace weft
