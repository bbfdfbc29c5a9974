// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/tokenizer.h"

namespace weft {

// The tokens of all ids as the vocabularies of other programs write them: a special's name; bytes as GPT-2's visible
// characters; a piece with U+2581 for each blank, or <0x0A> for a byte; a character or a word as it is, which need not
// be UTF-8. Empty for an id that stands for no token.
std::vector<std::string> written_tokens(const Tokenizer& tokenizer);
// The name of the special that has a role; nullopt if none has it.
std::optional<std::string> special_name(const Tokenizer& tokenizer, SpecialRole role);
// <|reserved_ID|>: the name of an id that stands for no token, where each must have one.
std::string reserved_name(int64_t id);

}  // namespace weft
