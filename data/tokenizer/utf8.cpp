#include "data/tokenizer/utf8.h"

namespace weft {

bool is_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
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
