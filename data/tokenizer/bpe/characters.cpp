// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/bpe/characters.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/pretokenizer_scan.h"

namespace weft {
namespace {

// The only character of `text`, U+2581 as a blank; nullopt if there are several.
std::optional<uint32_t> character_of(std::string_view text) {
  if (text == kBlankSign) return ' ';
  const Utf8Char c = utf8_at(text.data(), text.data() + text.size());
  return c.valid() && c.length == text.size() ? std::optional(c.code_point) : std::nullopt;
}

// Whether no merge joins text to a blank behind it, so that a text may be cut there.
bool keeps_to_words(const std::vector<VisibleMerge>& merges) {
  return std::ranges::none_of(merges, [](const VisibleMerge& merge) {
    return !merge.left.ends_with(kBlankSign) && merge.right.starts_with(kBlankSign);
  });
}

void add_symbols(const VisibleIds& ids, const std::string& where, BpeVocabulary& vocabulary) {
  for (int b = 0; b < 256; ++b) {
    vocabulary.byte_ids[static_cast<size_t>(b)] = id_of(ids, written_byte(static_cast<uint8_t>(b)), where, where);
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
  for (const char byte : bytes) byte == ' ' ? text += kBlankSign : text += byte;
  return text;
}

TokenizerParts parts_of_characters(const VisibleIds& ids, const std::vector<VisibleMerge>& merges, CharacterRule rule,
                                   const std::string& where) {
  BpeVocabulary vocabulary;
  vocabulary.normal_form = rule.normal_form;
  vocabulary.pattern = rule.cuts_at_blanks ? "blanks" : keeps_to_words(merges) ? "blank-runs" : "none";
  vocabulary.characters = CharacterSymbols{.ids = {}, .prefix = rule.prefix};
  add_symbols(ids, where, vocabulary);
  return parts_of(std::move(vocabulary), ids, merges, where, where);
}

}  // namespace weft
