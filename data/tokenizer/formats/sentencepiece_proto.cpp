// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/sentencepiece_proto.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/unigram/charsmap.h"

namespace weft {
namespace {

constexpr size_t kMaxPieceBytes = 1024;  // libsentencepiece walks down a piece by recursion

uint32_t little_endian_32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// One field of a message in protobuf's wire format: a number, or bytes within those of the file.
struct WireField {
  enum class Type { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint64_t number = 0;
  Type type = Type::Varint;
  uint64_t value = 0;
  std::string_view bytes;
};

class WireReader {
 public:
  WireReader(std::string_view message, const std::string& where) : rest_(message), where_(where) {}

  bool at_end() const { return rest_.empty(); }
  WireField next() {
    WireField field;
    const uint64_t key = varint();
    field.number = key >> 3, field.type = static_cast<WireField::Type>(key & 7);
    switch (field.type) {
      case WireField::Type::Varint:
        field.value = varint();
        return field;
      case WireField::Type::Bytes:
        field.bytes = take(varint());
        return field;
      case WireField::Type::Fixed32:
        field.value = little_endian_32(take(4), 0);
        return field;
      case WireField::Type::Fixed64:
        take(8);
        return field;
    }
    refuse();
  }

 private:
  [[noreturn]] void refuse() const { throw DataError(where_ + ": no SentencePiece model, or a damaged one"); }
  std::string_view take(uint64_t count) {
    if (count > rest_.size()) refuse();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }

  std::string_view rest_;
  const std::string& where_;
};

// Calls read(field) for each field of the message, in the order of the file.
template <class Read>
void read_message(std::string_view message, const std::string& where, Read&& read) {
  WireReader reader(message, where);
  while (!reader.at_end()) read(reader.next());
}

void expect(const WireField& field, WireField::Type type, const std::string& where, const char* name) {
  require<DataError>(field.type == type, "{}: {} has another type than a SentencePiece model gives it", where, name);
}

bool flag(const WireField& field, const std::string& where, const char* name) {
  expect(field, WireField::Type::Varint, where, name);
  return field.value != 0;
}

SentencePiece read_piece(std::string_view message, const std::string& where) {
  SentencePiece piece;
  read_message(message, where, [&](const WireField& field) {
    if (field.number == 1) {
      expect(field, WireField::Type::Bytes, where, "its text");
      piece.text = field.bytes;
    } else if (field.number == 2) {
      expect(field, WireField::Type::Fixed32, where, "its score");
      piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
    } else if (field.number == 3) {
      expect(field, WireField::Type::Varint, where, "its type");
      require<DataError>(field.value >= 1 && field.value <= 6, "{}: type {} is unknown", where, field.value);
      piece.type = static_cast<SentencePiece::Type>(field.value);
    }
  });
  require<DataError>(!piece.text.empty() && piece.text.size() <= kMaxPieceBytes && is_utf8(piece.text) &&
                         piece.text.find('\0') == std::string::npos,
                     "{}: its text is empty, longer than {} bytes or no text", where, kMaxPieceBytes);
  constexpr float kMostScore = 1e9f;
  require<DataError>(std::abs(piece.score) <= kMostScore, "{}: its score is {}", where, piece.score);
  return piece;
}

void check_trainer(std::string_view message, const std::string& where) {
  read_message(message, where, [&](const WireField& field) {
    if (field.number == 3) {
      expect(field, WireField::Type::Varint, where, "the kind of model");
      constexpr uint64_t kUnigram = 1, kBpe = 2;
      require<DataError>(field.value == kUnigram || field.value == kBpe,
                         "{}: a model by {} cannot be represented, only BPE and unigram", where,
                         field.value == 3   ? "words"
                         : field.value == 4 ? "characters"
                                            : "an unknown rule");
    } else if (field.number == 24) {
      require<DataError>(!flag(field, where, "treat_whitespace_as_suffix"),
                         "{}: treat_whitespace_as_suffix cannot be represented", where);
    }
  });
}

void read_normalizer(std::string_view message, const std::string& where, SentencePieceProto& proto) {
  read_message(message, where, [&](const WireField& field) {
    if (field.number == 2) {
      expect(field, WireField::Type::Bytes, where, "the table of normalisation");
      if (!field.bytes.empty()) CharsMap(field.bytes, where);  // libsentencepiece looks up without checks
    } else if (field.number == 3) {
      proto.add_dummy_prefix = flag(field, where, "add_dummy_prefix");
    } else if (field.number == 4) {
      proto.remove_extra_whitespaces = flag(field, where, "remove_extra_whitespaces");
    } else if (field.number == 5) {
      require<DataError>(flag(field, where, "escape_whitespaces"),
                         "{}: escape_whitespaces: false cannot be represented", where);
    }
  });
}

void check_denormalizer(std::string_view message, const std::string& where) {
  read_message(message, where, [&](const WireField& field) {
    require<DataError>(field.number != 2 || field.bytes.empty(), "{}: a denormaliser cannot be represented", where);
  });
}

}  // namespace

SentencePieceProto read_sentencepiece_proto(std::string_view bytes, const std::string& where) {
  SentencePieceProto proto;
  read_message(bytes, where, [&](const WireField& field) {
    if (field.number < 1 || field.number > 5 || field.number == 4) return;
    expect(field, WireField::Type::Bytes, where, "a part");
    if (field.number == 1) {
      proto.pieces.push_back(read_piece(field.bytes, fmt::format("{}: piece {}", where, proto.pieces.size())));
      require<DataError>(proto.pieces.size() <= static_cast<size_t>(kMaxTokenId), "{}: more than {} pieces", where,
                         kMaxTokenId);
    } else if (field.number == 2) {
      check_trainer(field.bytes, where);
    } else if (field.number == 3) {
      read_normalizer(field.bytes, where, proto);
    } else {
      check_denormalizer(field.bytes, where);
    }
  });
  const auto unknown = std::ranges::count(proto.pieces, SentencePiece::Type::Unknown, &SentencePiece::type);
  require<DataError>(unknown == 1, "{}: {} unknown pieces; a SentencePiece model has one", where, unknown);
  return proto;
}

}  // namespace weft
