// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/tokenizer.h"

namespace weft {

// An added token of a tokenizer.json. Those that are not special are `in_text`.
struct AddedToken {
  SpecialToken token;
  std::string at;  // file, member and name, for messages
};

// Which added tokens must be looked for in a text as it is, and not in its normal form, because weft does so.
enum class PlainNames { OfInText, OfAll };

// The tokens of added_tokens, in the order of the file. DataError beginning with `where` if weft would find one where
// Hugging Face's tokenizers would not, or the other way round.
std::vector<AddedToken> added_tokens(const TokenizerJson& json, PlainNames plain, const std::string& where);

}  // namespace weft
