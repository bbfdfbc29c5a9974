// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

// Models of SentencePiece (Kudo & Richardson 2018), by BPE or unigram. The content of a model is checked here before
// libsentencepiece reads it; in a build without that library every call is a ConfigError.
namespace weft {

// The tokenizer of a model's bytes: unknown and control pieces are specials with the roles that the model gives them.
// DataError beginning with `where` if the bytes are not a model, are damaged, or have another kind (words, characters).
TokenizerParts parts_of_sentencepiece(std::string bytes, const std::string& where);

// Reads the model from weft's tokenizer file, which has its bytes under `model`. `specials`: the specials of the file.
std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const nlohmann::json& json, const SpecialTokens& specials,
                                                              const std::string& where);

}  // namespace weft
