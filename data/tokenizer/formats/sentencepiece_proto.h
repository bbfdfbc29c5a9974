// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// One piece of a SentencePiece model: its text, where U+2581 stands for a blank, and what it is.
struct SentencePiece {
  enum class Type { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  std::string text;
  float score = 0;
  Type type = Type::Normal;
};

// What weft asks of a model file (sentencepiece_model.proto, message ModelProto).
struct SentencePieceProto {
  std::vector<SentencePiece> pieces;  // by id
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

// Reads a model file and checks all that libsentencepiece takes on trust: every piece has text of valid UTF-8 and a
// finite score, there is one unknown piece, the model is by BPE or unigram, and its table of normalisation leads
// nowhere outside itself. DataError beginning with `where`.
SentencePieceProto read_sentencepiece_proto(std::string_view bytes, const std::string& where);

}  // namespace weft
