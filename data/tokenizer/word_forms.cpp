// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/word_forms.h"

#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"

namespace weft {

std::string WordForms::of(std::string_view word) const {
  if (!is_utf8(word)) return std::string(word);
  std::u32string characters = decode_utf8(word);
  if (strip_punctuation) {
    const auto kept = [](char32_t c) { return (character_properties(c) & kPunctuation) == 0; };
    size_t begin = 0, end = characters.size();
    while (end > 0 && !kept(characters[end - 1])) --end;
    while (begin < end && !kept(characters[begin])) ++begin;
    characters = characters.substr(begin, end - begin);
  }
  return encode_utf8(lowercase ? to_lower(characters) : characters);
}

}  // namespace weft
