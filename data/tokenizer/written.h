// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace weft {

// The tokens of all ids as the vocabularies of other programs write them: a special's name; bytes as GPT-2's visible
// characters; a piece with U+2581 for each blank, or <0x0A> for a byte; a character or a word as it is, which need not
// be UTF-8. Empty for an id that stands for no token.
std::vector<std::string> written_tokens(const Tokenizer& tokenizer);

}  // namespace weft
