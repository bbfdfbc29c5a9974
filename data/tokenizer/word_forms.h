// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace weft {

// Which words are the same one to a tokenizer of the kind `words`.
struct WordForms {
  bool lowercase = false;          // "The" is "the"
  bool strip_punctuation = false;  // "storm," is "storm"; "won't" stays as it is

  bool any() const { return lowercase || strip_punctuation; }
  // The form of a word; empty if the word is punctuation alone. A word that is not valid UTF-8 is its own form.
  std::string of(std::string_view word) const;
};

}  // namespace weft
