#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

inline constexpr uint32_t kInvalidByte = 0x110000;  // kInvalidByte + b: byte b, which begins no valid sequence

struct Utf8Char {
  uint32_t code_point = 0;  // or kInvalidByte + byte, of length 1
  uint32_t length = 0;      // bytes
  bool valid() const { return code_point < kInvalidByte; }
};

// The character at `p` (p < end). Strict (RFC 3629): overlong forms, surrogates and what lies above U+10FFFF are
// invalid, and each byte of them counts alone.
inline Utf8Char utf8_at(const char* p, const char* end) {
  const auto byte = [p](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(p[i])); };
  const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t first = byte(0);
  const auto left = end - p;
  if (first < 0x80) return {first, 1};
  if (first >= 0xC2 && first < 0xE0 && left >= 2 && follows(1)) {
    return {(first & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  }
  if (first >= 0xE0 && first < 0xF0 && left >= 3 && follows(1) && follows(2)) {
    const uint32_t c = (first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) return {c, 3};
  }
  if (first >= 0xF0 && first < 0xF5 && left >= 4 && follows(1) && follows(2) && follows(3)) {
    const uint32_t c = (first & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    if (c >= 0x10000 && c <= 0x10FFFF) return {c, 4};
  }
  return {kInvalidByte + first, 1};
}

inline bool is_utf8(std::string_view text) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    if (!c.valid()) return false;
    p += c.length;
  }
  return true;
}

}  // namespace weft
