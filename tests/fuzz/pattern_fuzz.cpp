// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/pattern_fuzz.h"

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/pretokenizer_regex.h"
#include "tests/fuzz/text_of.h"

namespace weft::test {

bool reads_pattern(std::span<const uint8_t> bytes) {
  const std::string_view all = text_of(bytes);
  const std::string_view pattern = all.substr(0, all.find('\n'));
  const std::string_view text = all.substr(std::min(pattern.size() + 1, all.size()));
  std::vector<std::string_view> pieces;
  try {
    const Regex regex{std::string(pattern)};
    if (is_utf8(text)) regex.split(text, pieces);
  } catch (const ConfigError&) {
    return false;
  } catch (const DataError&) {
    return false;
  }
  if (!is_utf8(text)) return true;
  std::string joined;
  for (const std::string_view piece : pieces) {
    require<InternalError>(!piece.empty(), "an empty piece");
    joined += piece;
  }
  require<InternalError>(joined == text, "the pieces are not the text");
  return true;
}

}  // namespace weft::test
