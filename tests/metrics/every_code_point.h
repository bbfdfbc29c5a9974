// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <zlib.h>

#include <string>
#include <vector>

#include "data/text/utf8.h"
#include "metrics/bleu_tokenizers.h"

// Texts with every code point in places that tokenizers tell apart, as make_metrics.py and make_scores.py make them,
// and the checksums that these keep of what sacreBLEU makes of them.
namespace weft::test {

inline constexpr char32_t kCodePointsOfOneChecksum = 4096;

inline std::vector<std::string> tokens_of(BleuTokenizer tokenizer, std::string_view line) {
  std::vector<std::string> out;
  for (const auto& token : tokenize_for_bleu(tokenizer, decode_utf8(line))) out.push_back(encode_utf8(token));
  return out;
}

// The pattern with c at each {0}.
inline std::string fill(const char* pattern, const std::string& c) {
  std::string text = pattern;
  for (size_t at = text.find("{0}"); at != text.npos; at = text.find("{0}", at + c.size())) text.replace(at, 3, c);
  return text;
}

// All code points, but every 16th alone of the planes that hold no character of a class.
inline std::vector<std::string> characters_from(char32_t first) {
  const int step = first < 0x32000 || first == 0xE0000 ? 1 : 16;
  std::vector<std::string> out;
  for (char32_t c = first; c < first + kCodePointsOfOneChecksum; c += step) {
    if (c < 0xD800 || c >= 0xE000) out.push_back(encode_utf8(std::u32string(1, c)));
  }
  return out;
}

inline uint32_t crc(const std::string& text) {
  return crc32(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
}

// Of a line for each character, tokens with blanks between them.
inline uint32_t crc_of_tokens(BleuTokenizer tokenizer, const std::vector<std::string>& characters) {
  std::string lines;
  for (const std::string& c : characters) {
    lines += lines.empty() ? "" : "\n";
    const char* before = "";
    for (const std::string& token : tokens_of(tokenizer, fill("a{0}b 1{0}2 a{0}1 1{0}b {0} {0}{0} .{0}, {0}.{0}", c))) {
      lines += before + token;
      before = " ";
    }
  }
  return crc(lines);
}

}  // namespace weft::test
