// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/visible.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/model.h"

namespace weft {
namespace {

// The UTF-8 of a code point below U+0800.
std::string utf8_of(uint32_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
}

}  // namespace

VisibleBytes::VisibleBytes() {
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    const uint32_t shown = visible ? b : next++;
    byte_of_.emplace(shown, static_cast<char>(b));
    shown_[b] = utf8_of(shown);
  }
}

std::optional<std::string> VisibleBytes::read(std::string_view text) const {
  std::string bytes;
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    const auto byte = byte_of_.find(c.code_point);
    if (byte == byte_of_.end()) return std::nullopt;
    bytes += byte->second;
    p += c.length;
  }
  return bytes;
}

std::string VisibleBytes::write(std::string_view bytes) const {
  std::string text;
  for (const char byte : bytes) text += shown_[static_cast<unsigned char>(byte)];
  return text;
}

const VisibleBytes& visible_bytes() {
  static const VisibleBytes table;
  return table;
}

VisibleIds visible_ids(const TokenizerJson& object, const std::string& where) {
  VisibleIds ids;
  ids.reserve(object.size());
  for (const auto& [token, id] : object.items()) {
    const std::string at = fmt::format("{}: \"{}\"", where, token);
    require<DataError>(!token.empty(), "{}: the token is empty", at);
    ids.emplace(token, json_id(id, at));
  }
  return ids;
}

VisibleMerge visible_merge(std::string_view line, std::string at) {
  const size_t space = line.find(' ');
  const bool two = space != std::string_view::npos && space > 0 && space + 1 < line.size() &&
                   line.find(' ', space + 1) == std::string_view::npos;
  require<DataError>(two, "{}: expected two tokens and one space between them", at);
  return {std::string(line.substr(0, space)), std::string(line.substr(space + 1)), std::move(at)};
}

int32_t id_of(const VisibleIds& ids, const std::string& token, const std::string& at, const std::string& where_ids) {
  const auto found = ids.find(token);
  require<DataError>(found != ids.end(), "{}: \"{}\" is not in {}", at, token, where_ids);
  return found->second;
}

TokenizerParts parts_of(BpeVocabulary vocabulary, const VisibleIds& ids, const std::vector<VisibleMerge>& merges,
                        const std::string& where_ids, const std::string& where_merges) {
  for (const auto& [left, right, at] : merges) {
    vocabulary.merges.push_back(
        {id_of(ids, left, at, where_ids), id_of(ids, right, at, where_ids), id_of(ids, left + right, at, where_ids)});
  }
  auto model = std::make_unique<const BpeModel>(std::move(vocabulary), where_merges);
  SpecialTokens specials;
  for (const auto& [token, id] : ids) {
    if (!model->knows(id)) specials.tokens.push_back({token, id});
  }
  std::ranges::sort(specials.tokens, {}, &SpecialToken::id);
  size_t used = specials.tokens.size();
  for (int32_t id = 0; id < model->vocabulary(); ++id) used += model->knows(id) ? 1 : 0;
  require<DataError>(used == ids.size(), "{}: {} tokens, but the bytes, {} merges of {} and {} specials make {}",
                     where_ids, ids.size(), merges.size(), where_merges, specials.tokens.size(), used);
  return {std::move(model), std::move(specials)};
}

TokenizerParts parts_of_visible(const VisibleIds& ids, const std::vector<VisibleMerge>& merges, VisibleRule rule,
                                const std::string& where_ids, const std::string& where_merges) {
  const VisibleBytes& visible = visible_bytes();
  BpeVocabulary vocabulary;
  vocabulary.normal_form = rule.normal_form;
  vocabulary.first_patterns = std::move(rule.first_patterns);
  vocabulary.pattern = std::move(rule.pattern);
  vocabulary.keeps_whole = rule.keeps_whole;
  for (const auto& [left, right, at] : merges) {
    require<DataError>(visible.read(left) && visible.read(right), "{}: expected two tokens and one space between them",
                       at);
  }
  vocabulary.byte_ids.fill(-1);
  for (const auto& [token, id] : ids) {
    const auto bytes = visible.read(token);
    if (bytes && bytes->size() == 1) vocabulary.byte_ids[static_cast<unsigned char>((*bytes)[0])] = id;
  }
  for (size_t b = 0; b < 256; ++b) {
    require<DataError>(vocabulary.byte_ids[b] >= 0, "{}: no token is the single byte {}", where_ids, b);
  }
  TokenizerParts parts = parts_of(std::move(vocabulary), ids, merges, where_ids, where_merges);
  set_published_roles(parts.specials);
  return parts;
}

void set_published_roles(SpecialTokens& specials) {
  for (const SpecialToken& token : specials.tokens) {
    if (token.name != "<|endoftext|>") continue;
    specials.roles[static_cast<size_t>(SpecialRole::Bos)] = token.id;
    specials.roles[static_cast<size_t>(SpecialRole::Eos)] = token.id;
  }
}

}  // namespace weft
