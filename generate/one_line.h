// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft {

// A text as one line for any reader: each of "\n", "\v", "\f", "\r", U+001C to U+001E, U+0085, U+2028 and U+2029
// (what Unicode and Python's splitlines() take for the end of a line) becomes a blank, and "\r\n" one alone.
std::string one_line(const std::string& text);

// Whether nothing but white space of ASCII is in it, or nothing at all.
bool is_blank(const std::string& text);

}  // namespace weft
