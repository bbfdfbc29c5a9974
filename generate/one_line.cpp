// SPDX-License-Identifier: Apache-2.0
#include "generate/one_line.h"

#include <string_view>

namespace weft {
namespace {

// Bytes of the line end at the beginning of a text; 0 if the text does not begin with a line end.
size_t line_end(std::string_view text) {
  if (text.starts_with("\r\n")) return 2;
  const char c = text.front();
  if ((c >= '\n' && c <= '\r') || (c >= '\x1C' && c <= '\x1E')) return 1;
  if (text.starts_with("\xC2\x85")) return 2;
  return text.starts_with("\xE2\x80\xA8") || text.starts_with("\xE2\x80\xA9") ? 3 : 0;
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string line;
  for (std::string_view left = text; !left.empty();) {
    const size_t end = line_end(left);
    line += end > 0 ? ' ' : left.front();
    left.remove_prefix(end > 0 ? end : 1);
  }
  return line;
}

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

}  // namespace weft
