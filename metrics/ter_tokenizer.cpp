// SPDX-License-Identifier: Apache-2.0
#include "metrics/ter_tokenizer.h"

#include <algorithm>

#include "data/text/unicode_properties.h"
#include "metrics/ter.h"
#include "metrics/text_passes.h"

namespace weft {
namespace {

bool between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// CJK brackets, stops and middle dots, and the full-width forms of Western punctuation.
bool is_asian_punctuation(char32_t c) {
  constexpr std::u32string_view kFullWidth = U"\uFF0E\uFF0C\uFF1F\uFF1A\uFF1B\uFF01\uFF02\uFF08\uFF09";
  return c == 0x3001 || c == 0x3002 || c == 0x30FB || between(c, 0x3008, 0x3011) || between(c, 0x3014, 0x301F) ||
         between(c, 0xFF61, 0xFF65) || kFullWidth.find(c) != kFullWidth.npos;
}

// Ideographs, strokes, radicals and compatibility forms are separate words. (Tercom would also split kana at their
// borders, but only if a line begins with kana, and by then a line begins with a space.)
bool stands_alone(char32_t c) {
  return between(c, 0x2E80, 0x2EFF) || between(c, 0x31C0, 0x31EF) || between(c, 0x3200, 0x4DBF) ||
         between(c, 0x4E00, 0x9FFF) || between(c, 0xF900, 0xFAFF) || between(c, 0xFE30, 0xFE4F) ||
         is_asian_punctuation(c);
}

void normalise(std::u32string& text, bool asian_support) {
  replace_all(text, U"\n-", U"");
  replace_all(text, U"\n", U" ");
  replace_entities(text);
  text = surround(U" " + text + U" ", is_western_punctuation);
  replace_all(text, U"'s ", U" 's ");
  text = split_at_numbers(text);
  if (asian_support) text = surround(text, stands_alone);
}

bool is_removed_punctuation(char32_t c) {
  constexpr std::u32string_view kRemoved = U".,?:;!\"()";
  return kRemoved.find(c) != kRemoved.npos;
}

}  // namespace

std::vector<std::u32string> tokenize_for_ter(const TerConfig& config, std::u32string_view line) {
  std::u32string text(strip_end(line));
  if (!config.case_sensitive) text = to_lower(text);
  if (config.normalized) normalise(text, config.asian_support);
  if (config.no_punct) {
    std::erase_if(text, is_removed_punctuation);
    if (config.asian_support) std::erase_if(text, is_asian_punctuation);
  }
  return split_words(text);
}

}  // namespace weft
