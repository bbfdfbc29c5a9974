// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string_view>

#include "base/text/utf8.h"
#include "data/text/unicode_letters.h"

// Scanners for the patterns of GPT-2, GPT-4, o200k and others: each next_*(p, end) returns the end of the pretoken that
// begins at p < end. Pretokens cover the text without gaps. A byte that is not valid UTF-8 is a character of class
// Other.
namespace weft {

struct ScannedChar {
  CharClass kind;
  uint32_t length;
};

inline constexpr auto kAsciiClass = [] {
  std::array<CharClass, 128> table{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const bool number = c >= '0' && c <= '9';
    const bool space = c == ' ' || (c >= 9 && c <= 13);
    table[c] = letter ? CharClass::Letter : number ? CharClass::Number : space ? CharClass::Space : CharClass::Other;
  }
  return table;
}();

inline ScannedChar scan_char(const char* p, const char* end) {
  const auto byte = static_cast<unsigned char>(*p);
  if (byte < 0x80) return {kAsciiClass[byte], 1};
  const Utf8Char c = utf8_at(p, end);
  return {c.valid() ? char_class(c.code_point) : CharClass::Other, c.length};
}

// The end of the run of characters of class `kind` from p on.
inline const char* skip_run(const char* p, const char* end, CharClass kind) {
  while (p < end) {
    const ScannedChar c = scan_char(p, end);
    if (c.kind != kind) break;
    p += c.length;
  }
  return p;
}

// Where the white space that ends `text` begins; text.size() if there is none.
inline size_t space_at_end(std::string_view text) {
  const char* const begin = text.data();
  const char* end = begin + text.size();
  while (end > begin) {
    const char* last = end - 1;
    while (last > begin && end - last < 4 && (static_cast<unsigned char>(*last) & 0xC0) == 0x80) --last;
    const ScannedChar c = scan_char(last, end);
    if (c.kind != CharClass::Space || last + c.length != end) break;
    end = last;
  }
  return static_cast<size_t>(end - begin);
}

// The end of the pretoken within a run of white space [p, run_end): all but the last character, which belongs to the
// following word; the whole run if it is a single character.
inline const char* all_but_last_space(const char* p, const char* run_end) {
  const char* last = run_end - 1;
  while (last > p && (static_cast<unsigned char>(*last) & 0xC0) == 0x80) --last;
  return last > p ? last : run_end;
}

// '(?:[sdmt]|ll|ve|re) after the apostrophe at p: its end, or p. GPT-4 ignores case, where U+017F folds to s.
template <bool kIgnoreCase>
const char* contraction(const char* p, const char* end) {
  const auto at = [&](int i) -> char {
    if (p + i >= end) return 0;
    const char c = p[i];
    return kIgnoreCase && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = at(1);
  if (first == 's' || first == 'd' || first == 'm' || first == 't') return p + 2;
  const char second = at(2);
  if (first == 'l' && second == 'l') return p + 3;
  if ((first == 'v' || first == 'r') && second == 'e') return p + 3;
  if (kIgnoreCase && first == '\xC5' && second == '\xBF') return p + 3;
  return p;
}

// '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
inline const char* next_gpt2(const char* p, const char* end) {
  if (*p == '\'') {
    const char* after = contraction<false>(p, end);
    if (after != p) return after;
  }
  const char* word = *p == ' ' && p + 1 < end ? p + 1 : p;
  const ScannedChar c = scan_char(word, end);
  if (c.kind != CharClass::Space) return skip_run(word + c.length, end, c.kind);
  const char* run_end = skip_run(p, end, CharClass::Space);
  return run_end == end ? end : all_but_last_space(p, run_end);
}

inline bool is_newline(char c) { return c == '\n' || c == '\r'; }

// The end of \p{N}{1,most}, from after its first digit on.
inline const char* skip_digits(const char* p, const char* end, int most) {
  for (int digits = 1; digits < most && p < end; ++digits) {
    const ScannedChar digit = scan_char(p, end);
    if (digit.kind != CharClass::Number) break;
    p += digit.length;
  }
  return p;
}

// \s*[\r\n]|\s+(?!\S)|\s+ from the white space at p on.
inline const char* next_space_or_lines(const char* p, const char* end) {
  const char* run_end = skip_run(p, end, CharClass::Space);
  for (const char* q = run_end; q > p; --q) {
    if (is_newline(q[-1])) return q;
  }
  return run_end == end ? end : all_but_last_space(p, run_end);
}

// '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+
// kTrailingWhole: white space that ends the text is one pretoken (tiktoken's \s++$ before \s*[\r\n]). kDigits: the most
// that stay together, 3 here; Qwen 2 cuts numbers into digits.
template <bool kTrailingWhole, int kDigits = 3>
const char* next_gpt4(const char* p, const char* end) {
  if (*p == '\'') {
    const char* after = contraction<true>(p, end);
    if (after != p) return after;
  }
  const ScannedChar c = scan_char(p, end);
  const char* second = p + c.length;
  if (c.kind == CharClass::Letter) return skip_run(second, end, CharClass::Letter);
  if (c.kind == CharClass::Number) return skip_digits(second, end, kDigits);
  const ScannedChar next = second < end ? scan_char(second, end) : ScannedChar{CharClass::Space, 0};
  if (next.kind == CharClass::Letter && !is_newline(*p)) return skip_run(second + next.length, end, CharClass::Letter);
  if (c.kind == CharClass::Other || (*p == ' ' && next.kind == CharClass::Other)) {
    const char* after = skip_run(second, end, CharClass::Other);
    while (after < end && is_newline(*after)) ++after;
    return after;
  }
  if (kTrailingWhole && skip_run(second, end, CharClass::Space) == end) return end;
  return next_space_or_lines(p, end);
}

// \p{N}, and the text between two of them.
inline const char* next_digit_or_text(const char* p, const char* end) {
  const ScannedChar first = scan_char(p, end);
  p += first.length;
  if (first.kind == CharClass::Number) return p;
  for (ScannedChar c; p < end && (c = scan_char(p, end)).kind != CharClass::Number;) p += c.length;
  return p;
}

inline constexpr std::string_view kBlankSign = "\u2581";  // SentencePiece and files that follow it write it for a blank

// The bytes of a blank or of its sign at p; 0 if there is none.
inline size_t blank_at(const char* p, const char* end) {
  if (*p == ' ') return 1;
  return std::string_view(p, static_cast<size_t>(end - p)).starts_with(kBlankSign) ? kBlankSign.size() : 0;
}

// Blanks, and the text behind them up to the next blank. kEach: one blank and that text.
template <bool kEach>
const char* next_behind_blanks(const char* p, const char* end) {
  while (p < end) {
    const size_t blank = blank_at(p, end);
    if (blank == 0) break;
    p += blank;
    if (kEach) break;
  }
  while (p < end && blank_at(p, end) == 0) ++p;
  return p;
}

struct CasedChar {
  LetterCase letter_case;
  uint32_t length;
};

inline CasedChar scan_cased(const char* p, const char* end) {
  const Utf8Char c = utf8_at(p, end);
  return {c.valid() ? letter_case(c.code_point) : LetterCase::None, c.length};
}

// The end of the run of letters and marks from p on that have this case or either.
inline const char* skip_cased(const char* p, const char* end, LetterCase kind) {
  while (p < end) {
    const CasedChar c = scan_cased(p, end);
    if (c.letter_case != kind && c.letter_case != LetterCase::Either) break;
    p += c.length;
  }
  return p;
}

// [upper or either]*[lower or either]+ from p on: its end, or p. If no lower-case letter follows the first run, the
// match ends after the last character of that run that may be either.
inline const char* cased_word(const char* p, const char* end) {
  const char* ends = p;
  for (const char* q = p; q < end;) {
    const CasedChar c = scan_cased(q, end);
    if (c.letter_case == LetterCase::Lower) return skip_cased(q, end, LetterCase::Lower);
    if (c.letter_case == LetterCase::None) break;
    q += c.length;
    if (c.letter_case == LetterCase::Either) ends = q;
  }
  return ends;
}

inline const char* after_contraction(const char* p, const char* end) {
  return p < end && *p == '\'' ? contraction<true>(p, end) : p;
}

// With U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}], L = [\p{Ll}\p{Lm}\p{Lo}\p{M}], C = (?i:'s|'t|'re|'ve|'m|'ll|'d):
// [^\r\n\p{L}\p{N}]?U*L+C?|[^\r\n\p{L}\p{N}]?U+L*C?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
inline const char* next_o200k(const char* p, const char* end) {
  const ScannedChar c = scan_char(p, end);
  const char* second = p + c.length;
  const bool leads = c.kind != CharClass::Letter && c.kind != CharClass::Number && !is_newline(*p);
  const char* first = leads ? second : p;
  for (const char* begin : {first, p}) {
    const char* word = cased_word(begin, end);
    if (word != begin) return after_contraction(word, end);
  }
  const char* capitals = skip_cased(first, end, LetterCase::Upper);
  if (capitals != first) return after_contraction(capitals, end);
  if (c.kind == CharClass::Number) return skip_digits(second, end, 3);
  const bool other_follows = second < end && scan_char(second, end).kind == CharClass::Other;
  if (c.kind == CharClass::Other || (*p == ' ' && other_follows)) {
    const char* after = skip_run(second, end, CharClass::Other);
    while (after < end && (is_newline(*after) || *after == '/')) ++after;
    return after;
  }
  return next_space_or_lines(p, end);
}

}  // namespace weft
