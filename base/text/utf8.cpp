// SPDX-License-Identifier: Apache-2.0
#include "base/text/utf8.h"

#include <bit>
#include <cstring>

namespace weft {

static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");

namespace {

// The number of ASCII bytes among the next eight before the first other byte.
int ascii_bytes(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return std::countr_zero(bytes & 0x8080808080808080u) / 8;
}

// The length of the whole character at `p` if that is two or three bytes, else 0. Three bytes must be readable.
int common_length(const char* p) {
  const auto a = static_cast<uint8_t>(p[0]), b = static_cast<uint8_t>(p[1]), c = static_cast<uint8_t>(p[2]);
  const bool second = (b & 0xC0) == 0x80;
  if (a >= 0xC2 && a < 0xE0) return second ? 2 : 0;
  const bool any_second = (a > 0xE0 && a < 0xF0) && a != 0xED;  // after other first bytes some second bytes are invalid
  return any_second && second && (c & 0xC0) == 0x80 ? 3 : 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    if (end - p >= 16) {
      const int ascii = ascii_bytes(p);
      p += ascii;
      if (ascii == 8) continue;
      const int bytes = common_length(p);
      p += bytes;
      if (bytes > 0) continue;
    }
    const Utf8Char c = utf8_at(p, end);
    if (!c.valid()) return false;
    p += c.length;
  }
  return true;
}

std::u32string decode_utf8(std::string_view text) {
  constexpr char32_t kReplacement = 0xFFFD;
  std::u32string out;
  out.reserve(text.size());
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    out.push_back(c.valid() ? c.code_point : kReplacement);
    p += c.valid() ? c.length : utf8_matched(p, end, utf8_lead(static_cast<uint8_t>(*p)));
  }
  return out;
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
              static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return out;
}

}  // namespace weft
