// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/tokenizer.h"
#include "data/tokenizer/unigram/best_path.h"
#include "data/tokenizer/unigram/text_rule.h"
#include "data/tokenizer/unigram/trie.h"

namespace weft {

struct UnigramPiece {
  std::string text;  // U+2581 stands for a blank
  double score = 0;  // the logarithm of a probability, in files that were learnt
};

// The definition of a unigram language model, as Hugging Face's tokenizers have it.
struct UnigramVocabulary {
  TextRule rule;
  std::vector<UnigramPiece> pieces;  // by id; those of specials are among them
  bool byte_fallback = false;        // unknown text becomes the pieces <0x00> to <0xFF> of its bytes, if all are there
};

// A piece of a file's list of [text, score]. DataError beginning with `where`, which has the list.
UnigramPiece piece_from_json(const nlohmann::json& json, size_t place, const std::string& where);

// A unigram language model (Kudo 2018, arXiv:1804.10959): each stretch of a text becomes the pieces with the highest
// sum of scores. An unknown character costs 10 more than the worst piece; neighbours that are unknown become one unk.
class UnigramModel : public TokenizerModel {
 public:
  // `specials`: those of the tokenizer. Where one has a piece's id, it has its text too, and text does not become it
  // unless it is `in_text`; unk is one of these. DataError beginning with `where` if they contradict the pieces, or if
  // a piece is empty, long, twice there or no UTF-8, or its score is not finite or huge.
  UnigramModel(UnigramVocabulary vocabulary, const SpecialTokens& specials, const std::string& where);

  std::string_view kind() const override { return "unigram"; }
  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override;
  size_t own_beginning(std::string_view text) const override;
  int64_t vocabulary() const override { return static_cast<int64_t>(vocabulary_.pieces.size()); }
  bool knows(int32_t id) const override { return bytes_.knows(id); }
  std::string_view bytes(int32_t id) const override { return bytes_[id]; }
  std::string written(int32_t id) const override { return vocabulary_.pieces[static_cast<size_t>(id)].text; }
  void hash_into(Hasher& hasher) const override;
  void write_json(nlohmann::json& json) const override;
  // Reads the JSON that write_json() writes. DataError beginning with `where`.
  static std::unique_ptr<const UnigramModel> read_json(const nlohmann::json& json, const SpecialTokens& specials,
                                                       const std::string& where);

  const UnigramVocabulary& parts() const { return vocabulary_; }

 private:
  void check_pieces(const std::string& where) const;
  std::vector<const SpecialToken*> specials_by_piece(const SpecialTokens& specials, const std::string& where) const;
  void encode_stretch(std::string_view stretch, BestPath& path, std::vector<int32_t>& ids) const;
  void append_unknown(std::string_view text, std::vector<int32_t>& ids) const;

  UnigramVocabulary vocabulary_;
  std::vector<double> scores_;  // by id
  double unknown_score_ = 0;
  size_t longest_ = 0;  // bytes of a piece
  int32_t unk_ = 0;
  std::array<int32_t, 256> byte_ids_{};  // -1: there is no such piece, or no byte fallback
  TokenBytes bytes_;                     // without specials
  PieceTrie trie_;                       // without specials that are not `in_text`
};

}  // namespace weft
