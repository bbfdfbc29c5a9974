// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

// The tokenizers of BLEU and TER share these passes over a line. Each pass rewrites the line from left to right, as the
// regular expressions of the original scripts do.
namespace weft {

inline bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }

// The ASCII punctuation that is always split off: all of it except ' - , and .
inline bool is_western_punctuation(char32_t c) {
  return (c >= '!' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to);
// Replaces &quot; &amp; &lt; &gt;, in this order, so that &amp;lt; becomes <.
void replace_entities(std::u32string& text);

// Puts spaces around every character for which `predicate` holds.
template <class Predicate>
std::u32string surround(std::u32string_view text, Predicate predicate) {
  std::u32string out;
  out.reserve(text.size() + text.size() / 4);
  for (const char32_t c : text) {
    if (predicate(c)) {
      out += {U' ', c, U' '};
    } else {
      out += c;
    }
  }
  return out;
}

// If `first(a) && second(b)` holds for two neighbours, both are consumed and written with spaces around the one that
// splits off. (A consumed character takes no part in the next match: regular expressions substitute like this, and the
// scores depend on it.)
enum class SplitOff { First, Second };
template <class First, class Second>
std::u32string split_pairs(std::u32string_view text, SplitOff which, First first, Second second) {
  std::u32string out;
  out.reserve(text.size() + text.size() / 4);
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out += text[i];
      continue;
    }
    if (which == SplitOff::First) {
      out += {U' ', text[i], U' ', text[i + 1]};
    } else {
      out += {text[i], U' ', text[i + 1], U' '};
    }
    ++i;
  }
  return out;
}

// Splits off periods and commas unless they stand between digits, and dashes after a digit.
std::u32string split_at_numbers(std::u32string_view text);

// Splits at runs of white space, as Python's str.split() does; no word is empty.
std::vector<std::u32string> split_words(std::u32string_view line);
// Remove white space at the end, or at both ends.
std::u32string_view strip_end(std::u32string_view line);
std::u32string_view strip(std::u32string_view line);

}  // namespace weft
