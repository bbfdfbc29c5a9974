// SPDX-License-Identifier: Apache-2.0
#include "metrics/bleu_tokenizers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/text/unicode_properties.h"
#include "metrics/text_passes.h"

namespace weft {
namespace {

bool is(char32_t c, uint8_t classes) { return character_properties(c) & classes; }

std::u32string western(std::u32string_view text) { return split_at_numbers(surround(text, is_western_punctuation)); }

std::u32string mteval_13a(std::u32string_view line) {
  std::u32string text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_entities(text);
  return western(U" " + text + U" ");
}

std::u32string international(std::u32string_view line) {
  const auto punctuation = [](char32_t c) { return is(c, kPunctuation); };
  const auto not_number = [](char32_t c) { return !is(c, kNumber); };
  std::u32string text = split_pairs(line, SplitOff::Second, not_number, punctuation);
  text = split_pairs(text, SplitOff::First, punctuation, not_number);
  return surround(text, [](char32_t c) { return is(c, kSymbol); });
}

// The characters that sacreBLEU's zh treats as Chinese. Two ranges are not the supplementary planes that they were
// meant to be: 20000-2A6D6 and 2F800-2FA1D were written with four-digit escapes, and so cover most from general
// punctuation to mathematics, while ideographs beyond the first plane do not count. Published figures rely on these
// ranges, so they stay.
bool is_chinese(char32_t c) {
  constexpr auto kRanges = std::to_array<std::pair<char32_t, char32_t>>({{0x2001, 0x2A6D},
                                                                         {0x2E80, 0x2EFF},
                                                                         {0x2F00, 0x2FDF},
                                                                         {0x2FF0, 0x303F},
                                                                         {0x3100, 0x312F},
                                                                         {0x31A0, 0x31BF},
                                                                         {0x31C0, 0x31EF},
                                                                         {0x3200, 0x33FF},
                                                                         {0x3400, 0x4DB5},
                                                                         {0x4E00, 0x9FBB},
                                                                         {0xF900, 0xFA2D},
                                                                         {0xFA30, 0xFA6A},
                                                                         {0xFA70, 0xFAD9},
                                                                         {0xFE10, 0xFE1F},
                                                                         {0xFE30, 0xFE4F},
                                                                         {0xFF00, 0xFFEF}});
  return std::ranges::any_of(kRanges, [c](const auto& range) { return c >= range.first && c <= range.second; });
}

}  // namespace

std::vector<std::u32string> tokenize_for_bleu(BleuTokenizer tokenizer, std::u32string_view line) {
  line = strip_end(line);
  switch (tokenizer) {
    case BleuTokenizer::Mteval13a:
      return split_words(mteval_13a(line));
    case BleuTokenizer::International:
      return split_words(international(line));
    case BleuTokenizer::Chinese:
      return split_words(western(surround(strip(line), is_chinese)));
    case BleuTokenizer::Characters:
      return split_words(surround(line, [](char32_t) { return true; }));
    case BleuTokenizer::None:
      break;
  }
  return split_words(line);
}

}  // namespace weft
