// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace weft {
namespace {

// A launcher may have made the file non-blocking: if it accepts no bytes, this waits until it does.
bool write_whole(int file, std::string_view piece) {
  while (!piece.empty()) {
    const ssize_t written = ::write(file, piece.data(), piece.size());
    if (written >= 0) {
      piece.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd room{.fd = file, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

// The lines at the beginning of `text` that one write takes.
std::string_view first_lines(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  size_t end = text.rfind('\n', PIPE_BUF - 1);
  if (end == std::string_view::npos) end = text.find('\n', PIPE_BUF);
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

}  // namespace

bool write_lines(int file, std::string_view text) {
  while (!text.empty()) {
    const std::string_view lines = first_lines(text);
    if (!write_whole(file, lines)) return false;
    text.remove_prefix(lines.size());
  }
  return true;
}

void print(std::string_view text) {
  if (write_lines(STDOUT_FILENO, text)) return;
  throw DataError(fmt::format("write standard output: {}", std::strerror(errno)), "what was printed is not complete");
}

}  // namespace weft
