// SPDX-License-Identifier: Apache-2.0
// Splitting and reading of PTX text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::cuda_device {

std::string_view trim(std::string_view text);
// The trimmed parts between `by`, but not inside braces, brackets or parentheses. An empty text has no parts.
std::vector<std::string_view> split(std::string_view text, char by);
std::vector<std::string_view> split_words(std::string_view text);  // at white space
bool starts_with_word(std::string_view text, std::string_view word);

// The text without comments, with every line mark (.loc) closed by a semicolon like other statements.
std::string without_comments(std::string_view text);

// 12, -3, 0x1f, 0f3F800000, 0d3FF0000000000000; throws std::invalid_argument for anything else.
uint64_t parse_number(std::string_view text);
bool is_number(std::string_view text);

// Bytes of "f32", "b64", "bf16x2" ... and 0 for "pred". Throws std::invalid_argument for unknown types.
int type_bytes(std::string_view type);

}  // namespace weft::cuda_device
