// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/unigram/tokenizers_unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "base/text/utf8.h"

namespace weft {
namespace {

struct CharacterRange {
  uint32_t first, last;
};
struct SmallLetters {
  uint32_t first, last, stride;
  int32_t delta;  // of first, first + stride, ..., last
};

#include "data/tokenizer/unigram/tokenizers_unicode.inc"

// The range or run that may have the character; nullptr if none does.
template <class Table>
const auto* run_of(const Table& table, uint32_t c) {
  const auto* after = std::ranges::upper_bound(table, c, {}, [](const auto& run) { return run.first; });
  return after != std::begin(table) && c <= std::prev(after)->last ? std::prev(after) : nullptr;
}

bool is_newer_mark(uint32_t c) { return run_of(kNewerMarks, c) != nullptr; }
bool is_newer(uint32_t c) { return is_newer_mark(c) || run_of(kNewerOthers, c) != nullptr; }

utf8proc_int32_t in_utf8proc(uint32_t c) { return static_cast<utf8proc_int32_t>(c); }

bool is_older_mark(uint32_t c) {
  const auto category = utf8proc_category(in_utf8proc(c));
  const bool is_mark =
      category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
  return (is_mark && !is_newer_mark(c)) || run_of(kFormerMarks, c) != nullptr;
}

// Whether utf8proc does not know a mark, which continues a cluster.
bool is_unknown_mark(uint32_t c) {
  return run_of(kNewerContinuing, c) != nullptr && utf8proc_category(in_utf8proc(c)) == UTF8PROC_CATEGORY_CN;
}

bool is_control(uint32_t c) {
  const auto kind = utf8proc_get_property(in_utf8proc(c))->boundclass;
  return kind == UTF8PROC_BOUNDCLASS_CONTROL || kind == UTF8PROC_BOUNDCLASS_CR || kind == UTF8PROC_BOUNDCLASS_LF;
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// Calls each(character, bytes) for the characters of a text, and of what is no valid UTF-8 for each byte.
template <class Each>
void for_each_character(std::string_view text, Each&& each) {
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const Utf8Char c = utf8_at(p, end);
    each(c, std::string_view(p, c.length));
    p += c.length;
  }
}

}  // namespace

size_t grapheme_size(std::string_view text) {
  // Of ASCII characters only a line's end stays together. Most text is of these.
  if (is_ascii(text[0]) && text[0] != '\r' && (text.size() == 1 || is_ascii(text[1]))) return 1;
  const char* const end = text.data() + text.size();
  const char* p = text.data();
  utf8proc_int32_t state = 0;
  for (uint32_t before = utf8_at(p, end).code_point;;) {
    p += utf8_at(p, end).length;
    if (p == end) break;
    const uint32_t next = utf8_at(p, end).code_point;
    const bool breaks = utf8proc_grapheme_break_stateful(in_utf8proc(before), in_utf8proc(next), &state);
    if (breaks && (!is_unknown_mark(next) || is_control(before))) break;
    before = next;
  }
  return static_cast<size_t>(p - text.data());
}

std::string to_older_normal_form(std::string_view text, NormalForm form) {
  // A newer character is as one that nothing is composed with or moved across.
  std::string normal;
  size_t begin = 0;
  for_each_character(text, [&](const Utf8Char& c, std::string_view bytes) {
    if (!is_newer(c.code_point)) return;
    const auto at = static_cast<size_t>(bytes.data() - text.data());
    normal += to_normal_form(text.substr(begin, at - begin), form);
    normal += bytes;
    begin = at + bytes.size();
  });
  return normal += to_normal_form(text.substr(begin), form);
}

std::string without_marks(std::string_view text) {
  std::string kept;
  for_each_character(text, [&](const Utf8Char& c, std::string_view bytes) {
    if (!c.valid() || !is_older_mark(c.code_point)) kept += bytes;
  });
  return kept;
}

std::string to_lower_each(std::string_view text) {
  constexpr uint32_t kDottedI = 0x130;  // the only character whose lower case is two
  std::string lower;
  lower.reserve(text.size());
  for_each_character(text, [&](const Utf8Char& c, std::string_view bytes) {
    const SmallLetters* run = run_of(kSmallLetters, c.code_point);
    if (c.code_point == kDottedI) {
      lower += "i\u0307";
    } else if (run == nullptr || (c.code_point - run->first) % run->stride != 0) {
      lower += bytes;
    } else {
      lower += encode_utf8(std::u32string(1, static_cast<char32_t>(static_cast<int64_t>(c.code_point) + run->delta)));
    }
  });
  return lower;
}

}  // namespace weft
