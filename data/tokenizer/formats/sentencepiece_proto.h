// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// One piece of a SentencePiece model: its text, in which U+2581 stands for a blank, and its type.
struct SentencePiece {
  enum class Type { Normal = 1, Unknown = 2, Control = 3, UserDefined = 4, Unused = 5, Byte = 6 };
  std::string text;
  float score = 0;
  Type type = Type::Normal;
};

// The parts of a model file that weft uses (sentencepiece_model.proto, message ModelProto).
struct SentencePieceProto {
  std::vector<SentencePiece> pieces;  // indexed by id
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
};

// Reads a model file and checks all that libsentencepiece does not: every piece has text of valid UTF-8 and a finite
// score, there is one unknown piece, the model is by BPE or unigram, and no look-up leaves its
// table of normalisation. DataError beginning with `where`.
SentencePieceProto read_sentencepiece_proto(std::string_view bytes, const std::string& where);

}  // namespace weft
