// SPDX-License-Identifier: Apache-2.0
#include "base/process/exit_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace weft {

void write_exit_file(int code, std::string_view why) noexcept {
  const char* path = std::getenv("WEFT_EXIT_FILE");
  if (!path || !*path || code == 0) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;  // another rank was first, or the path is invalid: then the launcher's exit code counts
  constexpr size_t kMost = 4096;
  std::array<char, kMost + 16> text{};
  const int length = std::snprintf(text.data(), text.size(), "%d\n%.*s%s", code,
                                   static_cast<int>(std::min(why.size(), kMost)), why.data(), why.empty() ? "" : "\n");
  if (write(file, text.data(), static_cast<size_t>(length)) != length) unlink(path);
  close(file);
}

}  // namespace weft
