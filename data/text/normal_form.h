// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/config/fields.h"

namespace weft {

// Unicode's normal forms (UAX #15): characters composed (C) or decomposed (D), compatibility characters kept or
// replaced by what they stand for (K).
enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
template <>
struct EnumNames<NormalForm> {
  static constexpr auto kNames = enum_names<NormalForm>("NFC", "NFD", "NFKC", "NFKD");
};

// Whether `text` is in NFC for sure, seen without looking characters up: it has none from U+0300 on. Plain text in most
// languages of Latin letters has none.
bool is_plainly_nfc(std::string_view text);

// `text` in the normal form, by utf8proc's tables. Bytes that are not valid UTF-8 stay as they are, and nothing is
// composed across them.
std::string to_normal_form(std::string_view text, NormalForm form);

}  // namespace weft
