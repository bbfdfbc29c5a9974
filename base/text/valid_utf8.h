// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "base/text/utf8.h"

namespace weft {

// Calls valid(part) for each longest part of `text` that is valid UTF-8, and other(part) for each byte between them, in
// their order. No part is empty.
template <class Valid, class Other>
void for_each_valid_part(std::string_view text, Valid&& valid, Other&& other) {
  const char* const end = text.data() + text.size();
  const char* begin = text.data();  // the beginning of the valid part that ends at p
  const auto give = [&](const char* p) {
    if (p > begin) valid(std::string_view(begin, static_cast<size_t>(p - begin)));
  };
  for (const char* p = begin; p < end;) {
    const Utf8Char c = utf8_at(p, end);
    if (!c.valid()) {
      give(p);
      other(std::string_view(p, 1));
      begin = p + 1;
    }
    p += c.length;
  }
  give(end);
}

}  // namespace weft
