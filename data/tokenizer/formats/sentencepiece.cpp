// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/sentencepiece.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "data/tokenizer/bpe/characters.h"
#include "data/tokenizer/bpe/vocabulary.h"
#include "data/tokenizer/config.h"
#include "data/tokenizer/formats/json.h"
#include "data/tokenizer/formats/sentencepiece_proto.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

using Type = SentencePiece::Type;

constexpr const char* kPieces = "pieces";

// The bytes that a piece stands for.
std::string text_of(const SentencePiece& piece, const std::string& where) {
  if (piece.type == Type::Byte) {
    unsigned byte = 0;
    for (unsigned b = 0; b < 256; ++b) {
      if (piece.text == written_byte(static_cast<uint8_t>(b))) byte = b + 1;
    }
    require<DataError>(byte > 0, "{}: \"{}\" is no byte's piece", where, piece.text);
    return {static_cast<char>(byte - 1)};
  }
  std::string text;
  for (std::string_view rest = piece.text; !rest.empty();) {
    const bool is_blank = rest.starts_with(kBlankSign);
    text += is_blank ? ' ' : rest.front();
    rest.remove_prefix(is_blank ? kBlankSign.size() : 1);
  }
  return text;
}

// A model of a file; the classes below say which ids its pieces have.
class SentencePieceFile : public TokenizerModel {
 public:
  std::string_view kind() const override { return "sentencepiece"; }
  int64_t vocabulary() const override { return texts_.size(); }
  bool knows(int32_t id) const override { return texts_.knows(id); }
  std::string_view bytes(int32_t id) const override { return texts_[id]; }
  std::string written(int32_t id) const override { return proto_.pieces[static_cast<size_t>(id)].text; }
  size_t own_beginning(std::string_view text) const override {
    const size_t blanks = std::min(text.find_first_not_of(' '), text.size());
    if (proto_.remove_extra_whitespaces) return blanks;
    return proto_.add_dummy_prefix ? std::min<size_t>(blanks, 1) : 0;
  }
  void hash_into(Hasher& hasher) const override { hasher.update(bytes_.data(), bytes_.size()); }
  void write_json(TokenizerJson& json) const override { json["model"] = bytes_to_json(bytes_); }

 protected:
  SentencePieceFile(std::string bytes, const std::string& where)
      : bytes_(std::move(bytes)), proto_(read_sentencepiece_proto(bytes_, where)) {
    try {
      const auto status = processor_.LoadFromSerializedProto(bytes_);
      require<DataError>(status.ok(), "{}: libsentencepiece refuses it: {}", where, status.ToString());
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw DataError(fmt::format("{}: libsentencepiece refuses it: {}", where, error.what()));
    }
  }

  // The pieces of a text: their ids, or their own texts.
  template <class Piece>
  std::vector<Piece> pieces_of(std::string_view text, size_t offset) const {
    std::vector<Piece> found;
    const auto status = processor_.Encode(text, &found);
    require<DataError>(status.ok(), "tokenizer (sentencepiece): the text at byte {}: {}", offset, status.ToString());
    return found;
  }

  std::string bytes_;
  SentencePieceProto proto_;
  sentencepiece::SentencePieceProcessor processor_;
  TokenBytes texts_;
};

// Pieces have the ids of their places in the file.
class SentencePieceModel : public SentencePieceFile {
 public:
  SentencePieceModel(std::string bytes, const std::string& where) : SentencePieceFile(std::move(bytes), where) {
    for (size_t id = 0; id < proto_.pieces.size(); ++id) {
      const SentencePiece& piece = proto_.pieces[id];
      if (is_special(piece)) continue;
      texts_.set(static_cast<int32_t>(id), text_of(piece, fmt::format("{}: piece {}", where, id)));
    }
  }

  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override {
    const std::vector<int> found = pieces_of<int>(text, offset);
    ids.insert(ids.end(), found.begin(), found.end());
  }
  int64_t vocabulary() const override { return static_cast<int64_t>(proto_.pieces.size()); }

  // The pieces that stand for no text, with their roles.
  SpecialTokens specials() const {
    SpecialTokens specials;
    for (size_t id = 0; id < proto_.pieces.size(); ++id) {
      if (is_special(proto_.pieces[id])) {
        specials.tokens.push_back({proto_.pieces[id].text, static_cast<int32_t>(id)});
      }
    }
    const auto set = [&](SpecialRole role, int id) {
      if (id >= 0) specials.roles[static_cast<size_t>(role)] = id;
    };
    set(SpecialRole::Unk, processor_.unk_id()), set(SpecialRole::Bos, processor_.bos_id());
    set(SpecialRole::Eos, processor_.eos_id()), set(SpecialRole::Pad, processor_.pad_id());
    return specials;
  }

 private:
  static bool is_special(const SentencePiece& piece) {
    return piece.type == Type::Unknown || piece.type == Type::Control;
  }
};

// The length of the ">>nob<<" that a text begins with, 0 if it begins with none.
size_t language_code(std::string_view text) {
  const size_t end = text.starts_with(">>") ? text.find("<<") : std::string_view::npos;
  return end == std::string_view::npos ? 0 : end + 2;
}

// Pieces have the ids of a table.
class MappedSentencePieceModel : public SentencePieceFile {
 public:
  MappedSentencePieceModel(std::string bytes, PieceTable pieces, int32_t unk, const std::string& where)
      : SentencePieceFile(std::move(bytes), where), pieces_(std::move(pieces)), unk_(unk) {
    while (!pieces_.empty() && pieces_.back().empty()) pieces_.pop_back();
    std::unordered_set<std::string_view> of_bytes;
    for (const SentencePiece& piece : proto_.pieces) {
      if (piece.type == Type::Byte) of_bytes.insert(piece.text);
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const std::string& piece = pieces_[i];
      if (piece.empty()) continue;
      const auto id = static_cast<int32_t>(i);
      const auto [known, is_new] = ids_.emplace(piece, id);
      require<DataError>(is_new, "{}: pieces {} and {} are both \"{}\"", where, known->second, id, piece);
      const Type type = of_bytes.contains(piece) ? Type::Byte : Type::Normal;
      texts_.set(id, text_of({.text = piece, .type = type}, fmt::format("{}: piece {}", where, id)));
    }
  }

  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override {
    if (const size_t code = offset == 0 ? language_code(text) : 0; code > 0) {
      ids.push_back(id_of(text.substr(0, code)));
      text.remove_prefix(code);
    }
    for (const std::string& piece : pieces_of<std::string>(text, offset)) ids.push_back(id_of(piece));
  }
  void hash_into(Hasher& hasher) const override {
    SentencePieceFile::hash_into(hasher);
    for (const std::string& piece : pieces_) hasher.update(piece.c_str(), piece.size() + 1);
  }
  void write_json(TokenizerJson& json) const override {
    SentencePieceFile::write_json(json);
    TokenizerJson& list = json[kPieces] = TokenizerJson::array();
    for (const std::string& piece : pieces_) list.push_back(piece.empty() ? TokenizerJson() : TokenizerJson(piece));
  }

 private:
  int32_t id_of(std::string_view piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? unk_ : found->second;
  }

  PieceTable pieces_;
  int32_t unk_;
  std::unordered_map<std::string_view, int32_t> ids_;  // its texts are those of pieces_
};

PieceTable pieces_from(const TokenizerJson& json, const std::string& where) {
  PieceTable pieces;
  for (const TokenizerJson& piece : json_list(json, where)) {
    const std::string at = fmt::format("{}[{}]", where, pieces.size());
    require<DataError>(pieces.size() <= static_cast<size_t>(kMaxTokenId), "{}: ids reach {}", at, kMaxTokenId);
    pieces.push_back(piece.is_null() ? "" : json_name(piece, at));
  }
  return pieces;
}

}  // namespace

bool has_sentencepiece() { return true; }

TokenizerParts parts_of_sentencepiece(std::string bytes, const std::string& where) {
  auto model = std::make_unique<const SentencePieceModel>(std::move(bytes), where);
  SpecialTokens specials = model->specials();
  return {std::move(model), std::move(specials)};
}

std::unique_ptr<const TokenizerModel> mapped_sentencepiece(std::string bytes, PieceTable pieces, int32_t unk,
                                                           const std::string& where) {
  return std::make_unique<const MappedSentencePieceModel>(std::move(bytes), std::move(pieces), unk, where);
}

std::optional<MappedPieces> mapped_pieces(const Tokenizer& tokenizer) {
  if (tokenizer.kind() != "sentencepiece") return std::nullopt;
  const std::string where = "the tokenizer";
  const TokenizerJson json = parse_json(tokenizer.to_json(), where);
  if (!json.contains(kPieces)) return std::nullopt;
  return MappedPieces{bytes_from_json(json["model"], where), pieces_from(json[kPieces], where)};
}

std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const TokenizerJson& json, const SpecialTokens& specials,
                                                              const std::string& where) {
  json_only_members(json, {"format", "version", "kind", "specials", "roles", "model", kPieces}, where);
  const std::string at = where + ": model";
  std::string bytes = bytes_from_json(json_member(json, "model", where), at);
  const auto unk = specials.roles[static_cast<size_t>(SpecialRole::Unk)];
  if (json.contains(kPieces)) {
    require<DataError>(unk.has_value(), "{}: roles: unk is missing", where);
    return mapped_sentencepiece(std::move(bytes), pieces_from(json[kPieces], where + ": " + kPieces), *unk, at);
  }
  TokenizerParts parts = parts_of_sentencepiece(std::move(bytes), at);
  for (const SpecialToken& token : parts.specials.tokens) {
    require<DataError>(std::ranges::find(specials.tokens, token) != specials.tokens.end(),
                       "{}: specials: \"{}\" {} of the model is missing", where, token.name, token.id);
  }
  require<DataError>(unk == parts.specials.roles[static_cast<size_t>(SpecialRole::Unk)],
                     "{}: roles: unk is not the model's", where);
  return std::move(parts.model);
}

}  // namespace weft
