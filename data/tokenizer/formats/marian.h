// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "data/tokenizer/tokenizer.h"

// The tokenizers of translation models of `transformers`.
namespace weft {

// What config.json says of ids: how many there are, and which of the target's begin, end and fill its sequences.
struct TranslationIds {
  int64_t source_vocabulary = 0, target_vocabulary = 0;
  int64_t start = 0, end = 0;
  std::optional<int64_t> pad;
};

struct TranslationTokenizers {
  std::shared_ptr<const Tokenizer> source, target;
  bool begins_sources = false, ends_sources = false;  // whether every source begins with bos and ends with eos
};

// Reads the tokenizers of a directory. With source.spm they are MarianTokenizer's: SentencePiece models of both
// languages, source.spm and target.spm, whose pieces have the ids of vocab.json, or, if tokenizer_config.json has
// separate_vocabs, the target's those of target_vocab.json; sources end with eos. Else one tokenizer serves both
// languages, that of read_hugging_face_tokenizer(), which may put eos behind a text too. The token that config.json
// lets decoding begin with is the target's bos. Ids that have no token become specials <|reserved_ID|>.
//
// DataError naming file and member: two tokens of one id, an id beyond the model's, an end or pad token of
// config.json that is another one in the tokenizer's files or no special, an added token that is not MarianTokenizer's
// own, and what the models and read_hugging_face_tokenizer() refuse. ConfigError for source.spm in a build without
// libsentencepiece.
TranslationTokenizers read_translation_tokenizers(const fs::path& directory, const TranslationIds& ids);

// Whether both are SentencePiece models with tables of ids, and so have the form of MarianTokenizer's files.
bool have_piece_tables(const Tokenizer& source, const Tokenizer& target);

// The files of MarianTokenizer by name, for two tokenizers that have_piece_tables(). `shared`: they have the same ids,
// and one vocab.json. `max_length`: the model's positions.
std::map<std::string, std::string> marian_tokenizer_files(const Tokenizer& source, const Tokenizer& target, bool shared,
                                                          int64_t max_length);

}  // namespace weft
