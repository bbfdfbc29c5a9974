// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/text/utf8.h"

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

// C0 without tab and line feed, DEL, and C1.
bool is_control(uint32_t code_point) {
  return (code_point < 0x20 && code_point != '\n' && code_point != '\t') || (code_point >= 0x7f && code_point < 0xa0);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Utf8Char c = utf8_at(at, end);
    const std::string_view bytes(at, c.length);
    if (c.valid() && !is_control(c.code_point)) {
      shown += bytes;
    } else {
      for (const char byte : bytes) shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
    }
    at += c.length;
  }
  return shown;
}

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
