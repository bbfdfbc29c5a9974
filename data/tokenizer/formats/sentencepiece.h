// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

// Models of SentencePiece (Kudo & Richardson 2018), by BPE or unigram. What a model says is checked here before
// libsentencepiece sees it; in a build without that library everything is a ConfigError.
namespace weft {

// The tokenizer of a model's bytes: unknown and control pieces are specials with the roles that the model gives them.
// DataError beginning with `where` if it is no model, is damaged, or is of another kind (words, characters).
TokenizerParts parts_of_sentencepiece(std::string bytes, const std::string& where);

// The same out of weft's own tokenizer file, where the bytes stand under `model`. `specials`: those of the file.
std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const nlohmann::json& json, const SpecialTokens& specials,
                                                              const std::string& where);

}  // namespace weft
