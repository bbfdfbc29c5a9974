// SPDX-License-Identifier: Apache-2.0
#include "base/output.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
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

// The length of the UTF-8 sequence at the beginning of `text`; 0 if there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t length = byte(0) < 0x80   ? 1
                        : byte(0) < 0xc2 ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf5 ? 4
                                         : 0;
  if (length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// C0 without tab and line feed, DEL, and C1, which UTF-8 writes as 0xc2 and a second byte.
bool is_control(std::string_view sequence) {
  const auto first = static_cast<uint8_t>(sequence[0]);
  if (sequence.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  return first == 0xc2 && static_cast<uint8_t>(sequence[1]) < 0xa0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    if (length > 0 && !is_control(sequence)) {
      shown += sequence;
    } else {
      for (const char c : sequence) shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
    text.remove_prefix(sequence.size());
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
