#include "base/exit_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace weft {

void write_exit_file(int code) noexcept {
  const char* path = std::getenv("WEFT_EXIT_FILE");
  if (!path || !*path || code == 0) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;  // another rank was first, or there is no such place: then the launcher's code counts
  std::array<char, 16> line{};
  const int length = std::snprintf(line.data(), line.size(), "%d\n", code);
  if (write(file, line.data(), static_cast<size_t>(length)) != length) unlink(path);
  close(file);
}

}  // namespace weft
