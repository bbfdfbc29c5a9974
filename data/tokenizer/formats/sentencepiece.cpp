// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/sentencepiece.h"

#include <sentencepiece_processor.h>

#include <algorithm>

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

class SentencePieceModel : public TokenizerModel {
 public:
  SentencePieceModel(std::string bytes, const std::string& where)
      : bytes_(std::move(bytes)), proto_(read_sentencepiece_proto(bytes_, where)) {
    try {
      const auto status = processor_.LoadFromSerializedProto(bytes_);
      require<DataError>(status.ok(), "{}: libsentencepiece refuses it: {}", where, status.ToString());
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw DataError(fmt::format("{}: libsentencepiece refuses it: {}", where, error.what()));
    }
    for (size_t id = 0; id < proto_.pieces.size(); ++id) {
      const SentencePiece& piece = proto_.pieces[id];
      if (is_special(piece)) continue;
      texts_.set(static_cast<int32_t>(id), text_of(piece, fmt::format("{}: piece {}", where, id)));
    }
  }

  std::string_view kind() const override { return "sentencepiece"; }
  void encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const override {
    std::vector<int> found;
    const auto status = processor_.Encode(text, &found);
    require<DataError>(status.ok(), "tokenizer (sentencepiece): the text at byte {}: {}", offset, status.ToString());
    ids.insert(ids.end(), found.begin(), found.end());
  }
  int64_t vocabulary() const override { return static_cast<int64_t>(proto_.pieces.size()); }
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

  std::string bytes_;
  SentencePieceProto proto_;
  sentencepiece::SentencePieceProcessor processor_;
  TokenBytes texts_;
};

}  // namespace

bool has_sentencepiece() { return true; }

TokenizerParts parts_of_sentencepiece(std::string bytes, const std::string& where) {
  auto model = std::make_unique<const SentencePieceModel>(std::move(bytes), where);
  SpecialTokens specials = model->specials();
  return {std::move(model), std::move(specials)};
}

std::unique_ptr<const TokenizerModel> read_sentencepiece_json(const TokenizerJson& json, const SpecialTokens& specials,
                                                              const std::string& where) {
  json_only_members(json, {"format", "version", "kind", "specials", "roles", "model"}, where);
  const std::string at = where + ": model";
  TokenizerParts parts = parts_of_sentencepiece(bytes_from_json(json_member(json, "model", where), at), at);
  for (const SpecialToken& token : parts.specials.tokens) {
    require<DataError>(std::ranges::find(specials.tokens, token) != specials.tokens.end(),
                       "{}: specials: \"{}\" {} of the model is missing", where, token.name, token.id);
  }
  const auto unk = static_cast<size_t>(SpecialRole::Unk);
  require<DataError>(specials.roles[unk] == parts.specials.roles[unk], "{}: roles: unk is not the model's", where);
  return std::move(parts.model);
}

}  // namespace weft
