// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/characters.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/model.h"

namespace weft {
namespace {

constexpr uint32_t kBlankSign = 0x2581;

// The only character of `text`, U+2581 as a blank; nullopt if there are several.
std::optional<uint32_t> character_of(std::string_view text) {
  const Utf8Char c = utf8_at(text.data(), text.data() + text.size());
  if (!c.valid() || c.length != text.size()) return std::nullopt;
  return c.code_point == kBlankSign ? ' ' : c.code_point;
}

int32_t id_of(const VisibleIds& ids, const std::string& token, const std::string& at) {
  const auto found = ids.find(token);
  require<DataError>(found != ids.end(), "{}: \"{}\" is not in the vocabulary", at, token);
  return found->second;
}

bool ends_in_blank(std::string_view token) { return token.ends_with("\u2581"); }
bool begins_with_blank(std::string_view token) { return token.starts_with("\u2581"); }

// Whether no merge joins text to a blank behind it, so that a text may be cut there.
bool keeps_to_words(const std::vector<VisibleMerge>& merges) {
  return std::ranges::none_of(
      merges, [](const VisibleMerge& merge) { return !ends_in_blank(merge.left) && begins_with_blank(merge.right); });
}

void add_symbols(const VisibleIds& ids, const std::string& where, BpeVocabulary& vocabulary) {
  for (int b = 0; b < 256; ++b) {
    vocabulary.byte_ids[static_cast<size_t>(b)] = id_of(ids, written_byte(static_cast<uint8_t>(b)), where);
  }
  for (const auto& [token, id] : ids) {
    const auto character = character_of(token);
    if (!character) continue;
    require<DataError>(token != " ", "{}: the token \" \" never occurs, because blanks are written as U+2581", where);
    vocabulary.characters->ids.emplace_back(*character, id);
  }
  std::ranges::sort(vocabulary.characters->ids);
}

}  // namespace

std::string written_byte(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

std::string written_piece(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) byte == ' ' ? text += "\u2581" : text += byte;
  return text;
}

TokenizerParts parts_of_characters(const VisibleIds& ids, const std::vector<VisibleMerge>& merges, CharacterRule rule,
                                   const std::string& where) {
  BpeVocabulary vocabulary;
  vocabulary.normal_form = rule.normal_form;
  vocabulary.pattern = rule.cuts_at_blanks ? "blanks" : keeps_to_words(merges) ? "blank-runs" : "none";
  vocabulary.characters = CharacterSymbols{.ids = {}, .prefix = rule.prefix};
  add_symbols(ids, where, vocabulary);
  for (const auto& [left, right, at] : merges) {
    vocabulary.merges.push_back({id_of(ids, left, at), id_of(ids, right, at), id_of(ids, left + right, at)});
  }
  auto model = std::make_unique<const BpeModel>(std::move(vocabulary), where);
  SpecialTokens specials;
  for (const auto& [token, id] : ids) {
    if (!model->knows(id)) specials.tokens.push_back({token, id});
  }
  std::ranges::sort(specials.tokens, {}, &SpecialToken::id);
  return {std::move(model), std::move(specials)};
}

}  // namespace weft
