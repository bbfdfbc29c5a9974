// SPDX-License-Identifier: Apache-2.0
#include "base/process/exit_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace weft {
namespace {

// Opens the file for the first process that asks: a file that was made beforehand gets the name, or a new one is made.
int claim(const char* path) {
  std::array<char, 4096> room{};
  const int length = std::snprintf(room.data(), room.size(), "%s.room", path);
  const bool named = length > 0 && static_cast<size_t>(length) < room.size();
  if (named && rename(room.data(), path) == 0) return open(path, O_WRONLY | O_CLOEXEC);
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

}  // namespace

void write_exit_file(int code, std::string_view why) noexcept {
  const char* path = std::getenv("WEFT_EXIT_FILE");
  if (!path || !*path || code == 0) return;
  const int file = claim(path);
  if (file < 0) return;  // another rank was first, or the path is invalid: then the launcher's exit code counts
  constexpr size_t kMost = 4096;
  std::array<char, kMost + 16> text{};
  const int length = std::snprintf(text.data(), text.size(), "%d\n%.*s%s", code,
                                   static_cast<int>(std::min(why.size(), kMost)), why.data(), why.empty() ? "" : "\n");
  const bool whole = write(file, text.data(), static_cast<size_t>(length)) == length;
  if (!whole || ftruncate(file, length) != 0) unlink(path);
  close(file);
}

}  // namespace weft
