// SPDX-License-Identifier: Apache-2.0
#include "data/text/text_size.h"

#include "base/text/utf8.h"
#include "data/text/unicode_properties.h"

namespace weft {

void TextSize::add(std::string_view piece) {
  bytes_ += static_cast<int64_t>(piece.size());
  for (const char32_t c : decode_utf8(piece)) {
    const bool space = character_properties(c) & kSpace;
    words_ += !space && !inside_word_;
    inside_word_ = !space;
  }
}

}  // namespace weft
