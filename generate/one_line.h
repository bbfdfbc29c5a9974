// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace weft {

// A text as one line for any reader: each of "\n", "\v", "\f", "\r", U+001C to U+001E, U+0085, U+2028 and U+2029
// (the line ends of Unicode and of Python's splitlines()) becomes a blank, and "\r\n" becomes a single blank.
std::string one_line(const std::string& text);

// Whether the text is empty or holds only ASCII white space.
bool is_blank(const std::string& text);

}  // namespace weft
