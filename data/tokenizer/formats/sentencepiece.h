// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"

// Models of SentencePiece (Kudo & Richardson 2018), by BPE or unigram. The content of a model is checked here before
// libsentencepiece reads it; in a build without that library every call is a ConfigError.
namespace weft {

// The tokenizer of a model's bytes: unknown and control pieces are specials with the roles that the model gives them.
// DataError beginning with `where` if the bytes are not a model, are damaged, or have another kind (words, characters).
TokenizerParts parts_of_sentencepiece(std::string bytes, const std::string& where);

// The piece of each id, as MarianTokenizer's vocab.json has it; empty where an id is a special's or none's.
using PieceTable = std::vector<std::string>;

// A model whose pieces have the ids of a table and not those of its file. Pieces that the table lacks become `unk`;
// those that the file lacks have ids to decode. The ">>nob<<" that a text begins with, whatever stands between the
// signs, is one piece. DataError beginning with `where` as of parts_of_sentencepiece(), or if the table has a piece
// twice.
std::unique_ptr<const TokenizerModel> mapped_sentencepiece(std::string bytes, PieceTable pieces, int32_t unk,
                                                           const std::string& where);

// The bytes and the table of a tokenizer that has such a model; nullopt if it has another.
struct MappedPieces {
  std::string model;
  PieceTable pieces;
};
std::optional<MappedPieces> mapped_pieces(const Tokenizer& tokenizer);

// Reads the model from weft's tokenizer file, which has its bytes under `model` and the table, if ids are of one, under
// `pieces`. `specials`: the specials of the file.
std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const nlohmann::json& json, const SpecialTokens& specials,
                                                              const std::string& where);

}  // namespace weft
