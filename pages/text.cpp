// SPDX-License-Identifier: Apache-2.0
#include "pages/text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/output.h"
#include "base/text/utf8.h"

namespace weft {
namespace {

// Characters without a shape of their own: bidirectional marks, joiners, separators of lines, tags.
bool is_invisible(uint32_t c) {
  return c == 0x00AD || c == 0x061C || c == 0x180E || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE0FFF);
}

std::string spell_invisible(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    const Utf8Char c = utf8_at(at, end);
    if (c.valid() && is_invisible(c.code_point)) {
      const bool is_short = c.code_point <= 0xFFFF;
      shown += is_short ? fmt::format("\\u{:04x}", c.code_point) : fmt::format("\\U{:08x}", c.code_point);
    } else {
      shown.append(at, c.length);
    }
    at += c.length;
  }
  return shown;
}

// The number of bytes, at most `most`, that end with a whole character.
size_t whole_characters(std::string_view text, size_t most) {
  size_t end = most;
  while (end > 0 && end + 4 > most && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

}  // namespace

std::string page_text(std::string_view text, size_t most) {
  if (text.size() <= most) return spell_invisible(printable(text));
  const size_t kept = whole_characters(text, most);
  return spell_invisible(printable(text.substr(0, kept))) + fmt::format(" ... ({} more bytes)", text.size() - kept);
}

std::string json_block(std::string_view id, const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string block = fmt::format("<script type=\"application/json\" id=\"{}\">", id);
  block.reserve(block.size() + text.size() + text.size() / 64 + 16);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_separator = text.compare(i, 3, "\u2028") == 0 || text.compare(i, 3, "\u2029") == 0;
    if (c == '<' || c == '>' || c == '&') {
      block += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (is_separator) {
      block += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      block += c;
    }
  }
  return block + "</script>\n";
}

}  // namespace weft
