// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// Properties of characters as sacreBLEU sees them: classes of Unicode 17, case and white space of Unicode 14
// (make_unicode_properties.py).
enum CharacterProperty : uint8_t {
  kPunctuation = 1,  // \p{P}
  kNumber = 2,       // \p{N}
  kSymbol = 4,       // \p{S}
  kSpace = 8,        // white space at which Python's str.split() splits
  kCased = 16,
  kCaseIgnorable = 32,  // case-ignorable and not kCased
};
uint8_t character_properties(char32_t c);  // CharacterProperty bits

// Python's str.lower(): full mappings, U+0130 to two characters, the final sigma by its context.
std::u32string to_lower(std::u32string_view text);

}  // namespace weft
