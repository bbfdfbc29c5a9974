// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// UTF-8 (RFC 3629) as text arrives: it may hold anything. Overlong forms, surrogates and code points above U+10FFFF
// are invalid.
namespace weft {

inline constexpr uint32_t kInvalidByte = 0x110000;  // kInvalidByte + b: byte b, which begins no valid sequence

struct Utf8Char {
  uint32_t code_point = 0;  // or kInvalidByte + the byte, of length 1
  uint32_t length = 0;      // bytes
  bool valid() const { return code_point < kInvalidByte; }
};

// Length of the sequence that a byte starts (0: none) and the range that its second byte must lie in.
struct Utf8Lead {
  uint32_t length;
  uint8_t low, high;
};
constexpr Utf8Lead utf8_lead(uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first < 0xC2) return {0, 0, 0};
  if (first < 0xE0) return {2, 0x80, 0xBF};
  if (first < 0xF0) return {3, uint8_t(first == 0xE0 ? 0xA0 : 0x80), uint8_t(first == 0xED ? 0x9F : 0xBF)};
  if (first < 0xF5) return {4, uint8_t(first == 0xF0 ? 0x90 : 0x80), uint8_t(first == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

// The number of bytes at `p` (p < end) that begin a valid sequence: its length, or fewer if it ends early; at least 1.
inline uint32_t utf8_matched(const char* p, const char* end, Utf8Lead lead) {
  uint32_t matched = 1;
  for (; matched < lead.length && p + matched < end; ++matched) {
    const auto byte = static_cast<uint8_t>(p[matched]);
    if (matched == 1 ? byte < lead.low || byte > lead.high : (byte & 0xC0) != 0x80) break;
  }
  return matched;
}

// The character at `p` (p < end). Each byte of an invalid sequence is a character.
inline Utf8Char utf8_at(const char* p, const char* end) {
  const auto first = static_cast<uint8_t>(*p);
  if (first < 0x80) return {first, 1};
  const Utf8Lead lead = utf8_lead(first);
  if (lead.length == 0 || utf8_matched(p, end, lead) < lead.length) return {kInvalidByte + first, 1};
  uint32_t code_point = first & (0x7Fu >> lead.length);
  for (uint32_t i = 1; i < lead.length; ++i) code_point = code_point << 6 | (static_cast<uint8_t>(p[i]) & 0x3F);
  return {code_point, lead.length};
}

bool is_utf8(std::string_view text);

// UTF-8 to code points. Invalid UTF-8 is no error: each maximal invalid part becomes one U+FFFD, as browsers and
// Python's errors="replace" do it (Unicode 3.9, "substitution of maximal subparts"). U+FFFD is a symbol.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);

}  // namespace weft
