// SPDX-License-Identifier: Apache-2.0
#include "simulator/ptx/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace weft::cuda_device {

namespace {
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  if (trim(text).empty()) return parts;
  int depth = 0;
  size_t first = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (c != by || depth != 0) continue;
    parts.push_back(trim(text.substr(first, k - first)));
    first = k + 1;
  }
  parts.push_back(trim(text.substr(first)));
  return parts;
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (text = trim(text); !text.empty();) {
    const auto end = size_t(std::ranges::find_if(text, is_space) - text.begin());
    words.push_back(text.substr(0, end));
    text = trim(text.substr(end));
  }
  return words;
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.starts_with(word) &&
         (text.size() == word.size() || std::isspace(static_cast<unsigned char>(text[word.size()])) ||
          text[word.size()] == '.');
}

std::string without_comments(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (const auto quote = line.find('"'), slashes = line.find("//"); slashes < quote) line = line.substr(0, slashes);
    line = trim(line);
    plain += line;
    if (line.starts_with(".loc")) plain += ';';
    plain += '\n';
  }
  for (size_t from; (from = plain.find("/*")) != std::string::npos;) {
    const auto to = plain.find("*/", from);
    plain.replace(from, to == std::string::npos ? to : to + 2 - from, " ");
  }
  return plain;
}

bool is_number(std::string_view text) {
  return !text.empty() && (std::isdigit(static_cast<unsigned char>(text[0])) || (text[0] == '-' && text.size() > 1));
}

uint64_t parse_number(std::string_view text) {
  std::string_view digits = text;
  const bool minus = digits.starts_with('-');
  if (minus) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char kind = digits[1];
    if (kind == 'x' || kind == 'X' || kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') base = 16;
    if (kind == 'b' || kind == 'B') base = 2;
    if (base != 10) digits.remove_prefix(2);
  }
  if (digits.ends_with('U')) digits.remove_suffix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size())
    throw std::invalid_argument("not a number: " + std::string(text));
  return minus ? ~value + 1 : value;
}

int type_bytes(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, int>, 21> kTypes = {{
      {"b8", 1},   {"u8", 1},  {"s8", 1},  {"b16", 2}, {"u16", 2}, {"s16", 2},    {"f16", 2},
      {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4}, {"bf16x2", 4}, {"f16x2", 4},
      {"tf32", 4}, {"b64", 8}, {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16},  {"pred", 0},
  }};
  for (const auto& [name, bytes] : kTypes)
    if (name == type && !name.empty()) return bytes;
  throw std::invalid_argument("unknown type ." + std::string(type));
}

}  // namespace weft::cuda_device
