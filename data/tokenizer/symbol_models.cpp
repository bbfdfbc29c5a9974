// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/symbol_models.h"

#include <array>

#include "base/error.h"
#include "data/tokenizer/bpe/visible.h"
#include "data/tokenizer/formats/json.h"

namespace weft {

BytesModel::BytesModel() {
  for (int b = 0; b < 256; ++b) {
    const char byte = static_cast<char>(b);
    bytes_.set(b, {&byte, 1});
  }
}

// Text may be cut at any place; this place keeps the parts of valid UTF-8 valid.
size_t BytesModel::safe_split(std::string_view text, size_t from) const {
  while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
  return std::min(from, text.size());
}

void BytesModel::encode_append(std::string_view text, size_t, std::vector<int32_t>& ids) const {
  ids.reserve(ids.size() + text.size());
  for (char c : text) ids.push_back(static_cast<unsigned char>(c));
}

std::string BytesModel::written(int32_t id) const { return visible_bytes().write(bytes_[id]); }

ListModel::ListModel(Pretokenizer::Rule rule, Symbols symbols, std::optional<int32_t> unk, const std::string& where,
                     WordForms forms)
    : splitter_(rule), forms_(forms), unk_(unk) {
  int32_t before = -1;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const auto& [text, id] = symbols[i];
    size_t parts = 0, covered = 0;
    splitter_.for_each(text, [&](std::string_view part) { ++parts, covered += part.size(); });
    require<DataError>(parts == 1 && covered == text.size(), "{}: tokens[{}]: \"{}\" is not one of {}", where, i, text,
                       splitter_.pattern());
    require<DataError>(!forms_.any() || forms_.of(text) == text,
                       "{}: tokens[{}]: \"{}\" is not the form of a word, \"{}\"", where, i, text, forms_.of(text));
    require<DataError>(id > before && id <= kMaxTokenId, "{}: tokens[{}]: id {} must be above {} and at most {}", where,
                       i, id, before, kMaxTokenId);
    require<DataError>(bytes_.total() + text.size() <= kMaxVocabularyBytes, "{}: all tokens exceed {} bytes", where,
                       kMaxVocabularyBytes);
    bytes_.set(id, text);
    ids_.push_back(id);
    before = id;
  }
  for (size_t i = 0; i < ids_.size(); ++i) {
    const bool is_new = find_.emplace(bytes_[ids_[i]], ids_[i]).second;
    require<DataError>(is_new, "{}: tokens[{}]: \"{}\" is there already", where, i, bytes_[ids_[i]]);
  }
}

void ListModel::refuse(std::string_view symbol, size_t offset) const {
  constexpr size_t kShown = 100;
  const std::string shown = bytes_to_json(symbol.substr(0, kShown)).dump();
  throw DataError(fmt::format("tokenizer ({}): unknown {} at byte {}, and there is no unk", kind(), shown, offset),
                  "name a special as `unk`, or prepare the tokenizer from text that holds it");
}

void ListModel::encode_append(std::string_view text, size_t offset, std::vector<int32_t>& ids) const {
  splitter_.for_each(text, [&](std::string_view symbol) {
    const size_t at = offset + static_cast<size_t>(symbol.data() - text.data());
    if (!forms_.any()) return encode_symbol(symbol, at, ids);
    const std::string form = forms_.of(symbol);
    if (!form.empty()) encode_symbol(form, at, ids);
  });
}

void ListModel::encode_symbol(std::string_view symbol, size_t offset, std::vector<int32_t>& ids) const {
  const auto found = find_.find(symbol);
  if (found == find_.end() && !unk_) refuse(symbol, offset);
  ids.push_back(found != find_.end() ? found->second : *unk_);
}

void ListModel::hash_into(Hasher& hasher) const {
  for (int32_t id : ids_) {
    const uint64_t size = bytes_[id].size();
    hasher.update(&id, sizeof(id));
    hasher.update(&size, sizeof(size));
    hasher.update(bytes_[id].data(), size);
  }
  // Tokenizers of words as they are keep the hash that they had before forms existed.
  if (!forms_.any()) return;
  const std::array<uint8_t, 2> forms = {forms_.lowercase, forms_.strip_punctuation};
  hasher.update(forms.data(), forms.size());
}

void ListModel::write_json(TokenizerJson& json) const {
  if (forms_.lowercase) json["lowercase"] = true;
  if (forms_.strip_punctuation) json["strip_punctuation"] = true;
  TokenizerJson& tokens = json["tokens"] = TokenizerJson::array();
  for (int32_t id : ids_) tokens.push_back(TokenizerJson::array({bytes_to_json(bytes_[id]), id}));
}

std::unique_ptr<const ListModel> ListModel::read_json(const TokenizerJson& json, Pretokenizer::Rule rule,
                                                      std::optional<int32_t> unk, const std::string& where) {
  const bool words = rule == Pretokenizer::Rule::Words;
  if (words) {
    json_only_members(
        json, {"format", "version", "kind", "specials", "roles", "tokens", "lowercase", "strip_punctuation"}, where);
  } else {
    json_only_members(json, {"format", "version", "kind", "specials", "roles", "tokens"}, where);
  }
  const auto is_set = [&](const char* name) {
    if (!json.contains(name)) return false;
    if (json[name] != true) refuse_json(json[name], "true, or no such member", fmt::format("{}: {}", where, name));
    return true;
  };
  const WordForms forms{.lowercase = is_set("lowercase"), .strip_punctuation = is_set("strip_punctuation")};
  const TokenizerJson& tokens = json_list(json_member(json, "tokens", where), where + ": tokens");
  Symbols symbols;
  symbols.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string at = fmt::format("{}: tokens[{}]", where, i);
    require<DataError>(tokens[i].is_array() && tokens[i].size() == 2, "{}: expected [token, id]", at);
    symbols.emplace_back(bytes_from_json(tokens[i][0], at), json_id(tokens[i][1], at));
  }
  return std::make_unique<const ListModel>(rule, std::move(symbols), unk, where, forms);
}

}  // namespace weft
