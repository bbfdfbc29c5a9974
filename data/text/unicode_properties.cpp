// SPDX-License-Identifier: Apache-2.0
#include "data/text/unicode_properties.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace weft {
namespace {

constexpr char32_t kEndOfCode = 0x110000;

struct PropertyRun {
  uint32_t first;  // these properties hold up to the next run's first
  uint8_t properties;
};
struct LowerRun {
  uint32_t first, last, stride;
  int32_t delta;
};
#include "data/text/unicode_properties.inc"

const std::vector<uint8_t>& property_table() {
  static const std::vector<uint8_t> table = [] {
    std::vector<uint8_t> t(kEndOfCode);
    for (const PropertyRun* run = std::begin(kPropertyRuns); run != std::end(kPropertyRuns); ++run) {
      const uint32_t end = run + 1 != std::end(kPropertyRuns) ? run[1].first : kEndOfCode;
      std::fill(t.begin() + run->first, t.begin() + end, run->properties);
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
  while (before > 0 && (character_properties(text[before - 1]) & kCaseIgnorable)) --before;
  if (before == 0 || !(character_properties(text[before - 1]) & kCased)) return false;
  size_t after = at + 1;
  while (after < text.size() && (character_properties(text[after]) & kCaseIgnorable)) ++after;
  return after == text.size() || !(character_properties(text[after]) & kCased);
}

}  // namespace

uint8_t character_properties(char32_t c) { return c < kEndOfCode ? property_table()[c] : 0; }

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
