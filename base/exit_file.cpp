#include "base/exit_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace weft {

void write_exit_file(int code) noexcept {
  const char* path = std::getenv("WEFT_EXIT_FILE");
  if (!path || !*path || code == 0) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return;  // another rank was first, or there is no such place: then the launcher's code counts
  const std::string line = fmt::format("{}\n", code);
  if (write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) unlink(path);
  close(file);
}

}  // namespace weft
