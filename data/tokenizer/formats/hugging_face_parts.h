// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/hugging_face_steps.h"
#include "data/tokenizer/formats/json.h"

// What the readers of language models' and of translation models' tokenizers have in common.
namespace weft {

// A JSON file that holds an object.
TokenizerJson read_json_object(const fs::path& path);
// The file of a directory that names tokens by their roles: tokenizer_config.json, else special_tokens_map.json, which
// need not be there.
fs::path roles_file(const fs::path& directory);
// The name of eos_token or another role: a text, or an object with `content`; `absent` if it is not stated.
std::string role_name(const TokenizerJson& json, const char* key, const std::string& where,
                      const std::string& absent = "");

// The tokenizer of tokenizer.json, else of vocab.json and merges.txt, with the roles that roles_file() states.
struct HuggingFaceParts {
  TokenizerParts parts;
  TokensAround around;  // what it puts around every text
};
HuggingFaceParts read_hugging_face_parts(const fs::path& directory);

// The tokenizer of a model with so many ids: those above the last token become specials <|reserved_ID|>. DataError
// beginning with `where` if the model has fewer ids than the tokenizer.
std::shared_ptr<const Tokenizer> with_ids(TokenizerParts parts, int64_t vocabulary, const std::string& where);

}  // namespace weft
