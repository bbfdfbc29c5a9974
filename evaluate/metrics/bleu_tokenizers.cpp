#include "evaluate/metrics/bleu_tokenizers.h"

#include "data/tokenizer/unicode_properties.h"

namespace weft {
namespace {

bool is(char32_t c, uint8_t classes) { return character_properties(c) & classes; }
bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_period_or_comma(char32_t c) { return c == '.' || c == ','; }

// The ASCII punctuation that 13a always splits off: all of it except ' - , and .
bool is_split_by_13a(char32_t c) {
  return (c >= '!' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Rewrites `text` from left to right: where `first(a) && second(b)` holds of two neighbours, both are consumed and come
// out with spaces around the one that splits off. (A consumed character takes no part in the next match: regular
// expressions substitute like this, and the scores depend on it.)
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

std::u32string mteval_13a(std::u32string_view line) {
  std::u32string text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  const auto not_digit = [](char32_t c) { return !is_digit(c); };
  text = surround(U" " + text + U" ", is_split_by_13a);
  text = split_pairs(text, SplitOff::Second, not_digit, is_period_or_comma);
  text = split_pairs(text, SplitOff::First, is_period_or_comma, not_digit);
  return split_pairs(text, SplitOff::Second, is_digit, [](char32_t c) { return c == '-'; });
}

std::u32string international(std::u32string_view line) {
  const auto punctuation = [](char32_t c) { return is(c, kPunctuation); };
  const auto not_number = [](char32_t c) { return !is(c, kNumber); };
  std::u32string text = split_pairs(line, SplitOff::Second, not_number, punctuation);
  text = split_pairs(text, SplitOff::First, punctuation, not_number);
  return surround(text, [](char32_t c) { return is(c, kSymbol); });
}

}  // namespace

std::vector<std::u32string> split_words(std::u32string_view line) {
  std::vector<std::u32string> words;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && !is(line[end], kSpace)) ++end;
    if (end > i) words.emplace_back(line.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

std::vector<std::u32string> tokenize_for_bleu(BleuTokenizer tokenizer, std::u32string_view line) {
  while (!line.empty() && is(line.back(), kSpace)) line.remove_suffix(1);
  switch (tokenizer) {
    case BleuTokenizer::Mteval13a:
      return split_words(mteval_13a(line));
    case BleuTokenizer::International:
      return split_words(international(line));
    case BleuTokenizer::Characters:
      return split_words(surround(line, [](char32_t) { return true; }));
    case BleuTokenizer::None:
      break;
  }
  return split_words(line);
}

}  // namespace weft
