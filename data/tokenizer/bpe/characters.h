// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/tokenizer/bpe/visible.h"

namespace weft {

// How a BPE of characters treats a text, as in BpeVocabulary.
struct CharacterRule {
  std::optional<NormalForm> normal_form;
  BlankPrefix prefix = BlankPrefix::Never;
  bool cuts_at_blanks = false;  // before each blank
};

// The BPE of characters with these tokens and merges, which are as text in which U+2581 is a blank. The tokens <0x00>
// to <0xFF> are those of bytes. A token that is neither a byte nor a character nor made by a merge (`<s>`) is a
// special. DataError beginning with `where`.
TokenizerParts parts_of_characters(const VisibleIds& ids, const std::vector<VisibleMerge>& merges, CharacterRule rule,
                                   const std::string& where);

// A token of such a file: U+2581 for blanks, <0x0A> for a byte that is no character's token.
std::string written_piece(std::string_view bytes);
std::string written_byte(uint8_t byte);

}  // namespace weft
