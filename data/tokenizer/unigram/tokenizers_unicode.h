// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "data/text/normal_form.h"

// Characters as the steps of Hugging Face's tokenizers see them, whose parts have different versions of Unicode
// (make_tokenizers_unicode.py). Bytes that are not valid UTF-8 stay as they are.
namespace weft {

// The bytes of the first extended grapheme cluster (UAX #29) of a text that is valid UTF-8 and not empty: what a reader
// takes for one character.
size_t grapheme_size(std::string_view text);

// The normal form, in which characters that came after Unicode 9 stay as they are.
std::string to_older_normal_form(std::string_view text, NormalForm form);

// Without marks (\p{M}), those of Unicode 9.
std::string without_marks(std::string_view text);

// Each character in lower case for itself, as Rust's char::to_lowercase() has it: U+0130 becomes two, and a final sigma
// is as any other.
std::string to_lower_each(std::string_view text);

}  // namespace weft
