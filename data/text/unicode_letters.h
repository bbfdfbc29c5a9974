// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

// The class of a code point in the patterns of GPT-2 and GPT-4: \p{L}, \p{N}, \s, or none of them. Unicode 16, as in
// tiktoken (make_unicode_letters.py).
enum class CharClass : uint8_t { Other = 0, Letter = 1, Number = 2, Space = 3 };

// Blocks of 256 code points; equal blocks are stored once, two bits a code point. After the last block all is Other.
inline constexpr size_t kUnicodeBlocks = 804;
inline constexpr size_t kUnicodeDistinctBlocks = 133;
extern const std::array<uint8_t, kUnicodeBlocks> kUnicodeBlockIndex;
extern const std::array<uint64_t, kUnicodeDistinctBlocks * 8> kUnicodeBlockClasses;

inline CharClass char_class(uint32_t code_point) {
  const uint32_t block = code_point >> 8;
  if (block >= kUnicodeBlocks) return CharClass::Other;
  const uint64_t classes = kUnicodeBlockClasses[size_t{kUnicodeBlockIndex[block]} * 8 + ((code_point >> 5) & 7)];
  return static_cast<CharClass>((classes >> ((code_point & 31) * 2)) & 3);
}

// o200k's pattern also distinguishes whether a letter or mark begins words (upper or title case), continues them (lower
// case), or may do either (no case, and all marks).
enum class LetterCase : uint8_t { None = 0, Upper = 1, Lower = 2, Either = 3 };

inline constexpr size_t kCaseBlocks = 3586;
inline constexpr size_t kCaseDistinctBlocks = 132;
extern const std::array<uint8_t, kCaseBlocks> kCaseBlockIndex;
extern const std::array<uint64_t, kCaseDistinctBlocks * 8> kCaseBlockClasses;

inline LetterCase letter_case(uint32_t code_point) {
  const uint32_t block = code_point >> 8;
  if (block >= kCaseBlocks) return LetterCase::None;
  const uint64_t cases = kCaseBlockClasses[size_t{kCaseBlockIndex[block]} * 8 + ((code_point >> 5) & 7)];
  return static_cast<LetterCase>((cases >> ((code_point & 31) * 2)) & 3);
}

}  // namespace weft
