// SPDX-License-Identifier: Apache-2.0
#include "metrics/text_passes.h"

#include "data/text/unicode_properties.h"

namespace weft {
namespace {

bool is_space(char32_t c) { return character_properties(c) & kSpace; }

}  // namespace

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void replace_entities(std::u32string& text) {
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
}

std::u32string split_at_numbers(std::u32string_view text) {
  const auto not_digit = [](char32_t c) { return !is_digit(c); };
  const auto is_period_or_comma = [](char32_t c) { return c == '.' || c == ','; };
  std::u32string out = split_pairs(text, SplitOff::Second, not_digit, is_period_or_comma);
  out = split_pairs(out, SplitOff::First, is_period_or_comma, not_digit);
  return split_pairs(out, SplitOff::Second, is_digit, [](char32_t c) { return c == '-'; });
}

std::vector<std::u32string> split_words(std::u32string_view line) {
  std::vector<std::u32string> words;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && !is_space(line[end])) ++end;
    if (end > i) words.emplace_back(line.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

std::u32string_view strip_end(std::u32string_view line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  return line;
}

std::u32string_view strip(std::u32string_view line) {
  line = strip_end(line);
  while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
  return line;
}

}  // namespace weft
