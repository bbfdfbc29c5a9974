// SPDX-License-Identifier: Apache-2.0
// Replaces sentencepiece.cpp if libsentencepiece is not found.
#include "base/error.h"
#include "data/tokenizer/config.h"
#include "data/tokenizer/formats/sentencepiece.h"

namespace weft {

bool has_sentencepiece() { return false; }

TokenizerParts parts_of_sentencepiece(std::string, const std::string& where) {
  throw ConfigError(fmt::format("{}: this weft was built without SentencePiece", where),
                    "install libsentencepiece-dev (Debian), then configure and build again");
}

std::unique_ptr<const TokenizerModel> mapped_sentencepiece(std::string, PieceTable, int32_t, const std::string& where) {
  return parts_of_sentencepiece({}, where).model;
}

std::optional<MappedPieces> mapped_pieces(const Tokenizer&) { return std::nullopt; }

std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const nlohmann::json&, const SpecialTokens&,
                                                              const std::string& where) {
  return parts_of_sentencepiece({}, where).model;
}

}  // namespace weft
