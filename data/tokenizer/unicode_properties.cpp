#include "data/tokenizer/unicode_properties.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace weft {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kEndOfCode = 0x110000;

struct ClassRun {
  uint32_t first;  // this class holds up to the next run's first
  uint8_t classes;
};
struct LowerRun {
  uint32_t first, last, stride;
  int32_t delta;
};
#include "data/tokenizer/unicode_properties.inc"

const std::vector<uint8_t>& class_table() {
  static const std::vector<uint8_t> table = [] {
    std::vector<uint8_t> t(kEndOfCode);
    for (const ClassRun* run = std::begin(kClassRuns); run != std::end(kClassRuns); ++run) {
      const uint32_t end = run + 1 != std::end(kClassRuns) ? run[1].first : kEndOfCode;
      std::fill(t.begin() + run->first, t.begin() + end, run->classes);
    }
    return t;
  }();
  return table;
}

char32_t simple_lower(char32_t c) {
  static const std::unordered_map<char32_t, char32_t> table = [] {
    std::unordered_map<char32_t, char32_t> t;
    for (const LowerRun& run : kLowerRuns) {
      for (uint32_t from = run.first; from <= run.last; from += run.stride) t[from] = from + run.delta;
    }
    return t;
  }();
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const auto found = table.find(c);
  return found == table.end() ? c : found->second;
}

// A capital sigma is final after a cased letter and not before one; case-ignorable characters between do not count.
bool is_final_sigma(std::u32string_view text, size_t at) {
  size_t before = at;
  while (before > 0 && (character_class(text[before - 1]) & kCaseIgnorable)) --before;
  if (before == 0 || !(character_class(text[before - 1]) & kCased)) return false;
  size_t after = at + 1;
  while (after < text.size() && (character_class(text[after]) & kCaseIgnorable)) ++after;
  return after == text.size() || !(character_class(text[after]) & kCased);
}

// Length of the sequence that `lead` starts (0: none) and the range that its second byte must lie in: outside it the
// sequence would be overlong, a surrogate or beyond U+10FFFF.
struct Lead {
  int length;
  uint8_t low, high;
};
Lead lead_of(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {0, 0, 0};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead < 0xF0) return {3, uint8_t(lead == 0xE0 ? 0xA0 : 0x80), uint8_t(lead == 0xED ? 0x9F : 0xBF)};
  if (lead < 0xF5) return {4, uint8_t(lead == 0xF0 ? 0x90 : 0x80), uint8_t(lead == 0xF4 ? 0x8F : 0xBF)};
  return {0, 0, 0};
}

}  // namespace

uint8_t character_class(char32_t c) { return c < kEndOfCode ? class_table()[c] : 0; }

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const uint8_t first = static_cast<uint8_t>(text[i++]);
    const Lead lead = lead_of(first);
    if (lead.length == 1) {
      out.push_back(first);
      continue;
    }
    char32_t c = lead.length == 0 ? 0 : first & (0x7F >> lead.length);
    int have = 1;
    for (; have < lead.length && i < text.size(); ++have, ++i) {
      const uint8_t next = static_cast<uint8_t>(text[i]);
      const uint8_t low = have == 1 ? lead.low : 0x80, high = have == 1 ? lead.high : 0xBF;
      if (next < low || next > high) break;
      c = c << 6 | (next & 0x3F);
    }
    out.push_back(have == lead.length ? c : kReplacement);
  }
  return out;
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
              static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return out;
}

std::u32string to_lower(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == 0x130) {
      out += U"i\u0307";
    } else if (text[i] == 0x3A3) {
      out += is_final_sigma(text, i) ? U'\u03C2' : U'\u03C3';
    } else {
      out += simple_lower(text[i]);
    }
  }
  return out;
}

}  // namespace weft
