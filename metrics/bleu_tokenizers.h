// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/config/fields.h"

namespace weft {

// How BLEU cuts a line into tokens. Each equals sacreBLEU's tokenizer of that name.
enum class BleuTokenizer {
  Mteval13a,      // "13a": mteval-v13a.pl, the default of WMT
  International,  // "intl": mteval-v14.pl --international-tokenization: Unicode punctuation and symbols split off
  Chinese,        // "zh": Chinese characters are separate tokens; 13a splits the rest
  Characters,     // "char": each character is a token
  None,           // "none": the text is tokenised already
};
template <>
struct EnumNames<BleuTokenizer> {
  static constexpr auto kNames = enum_names<BleuTokenizer>("13a", "intl", "zh", "char", "none");
};

// The tokens of one line. White space is Unicode's, as in Python's str.split(); invalid UTF-8 counts as U+FFFD.
std::vector<std::u32string> tokenize_for_bleu(BleuTokenizer tokenizer, std::u32string_view line);

}  // namespace weft
