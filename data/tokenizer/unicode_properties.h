#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// Properties of characters as sacreBLEU sees them; the tables are generated (make_unicode_tables.py).
enum CharacterClass : uint8_t {
  kPunctuation = 1,  // \p{P}
  kNumber = 2,       // \p{N}
  kSymbol = 4,       // \p{S}
  kSpace = 8,        // what Python's str.split() splits at
  kCased = 16,
  kCaseIgnorable = 32,  // and not a cased one that ends a word before a final sigma
};
uint8_t character_class(char32_t c);

// UTF-8 to code points. Invalid UTF-8 is no error: each maximal invalid part becomes one U+FFFD, as browsers and
// Python's errors="replace" do it (Unicode 3.9, "substitution of maximal subparts"). U+FFFD is a symbol.
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);

// Python's str.lower(): full mappings, U+0130 to two characters, the final sigma by its context.
std::u32string to_lower(std::u32string_view text);

}  // namespace weft
