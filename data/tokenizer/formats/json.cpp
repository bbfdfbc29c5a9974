// SPDX-License-Identifier: Apache-2.0
#include "data/tokenizer/formats/json.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/utf8.h"
#include "data/tokenizer/bpe/vocabulary.h"

namespace weft {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void refuse_json(const TokenizerJson& found, std::string_view wanted, const std::string& where) {
  throw DataError(fmt::format("{}: expected {}, got {}", where, wanted, json_excerpt(found)));
}

const TokenizerJson& json_member(const TokenizerJson& object, const char* name, const std::string& where) {
  if (!object.is_object()) refuse_json(object, "an object", where);
  const auto found = object.find(name);
  require<DataError>(found != object.end(), "{}: \"{}\" is missing", where, name);
  return *found;
}

const TokenizerJson& json_list(const TokenizerJson& value, const std::string& where) {
  if (!value.is_array()) refuse_json(value, "a list", where);
  return value;
}

std::string json_name(const TokenizerJson& value, const std::string& where) {
  const bool is_name = value.is_string() && !value.get_ref<const std::string&>().empty();
  if (!is_name) refuse_json(value, "a string that is not empty", where);
  return value.get<std::string>();
}

int32_t json_id(const TokenizerJson& value, const std::string& where) {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(kMaxTokenId);
  if (!fits) refuse_json(value, fmt::format("an id of 0 to {}", kMaxTokenId), where);
  return value.get<int32_t>();
}

void json_only_members(const TokenizerJson& object, std::initializer_list<std::string_view> names,
                       const std::string& where) {
  if (!object.is_object()) refuse_json(object, "an object", where);
  for (const auto& [name, value] : object.items()) {
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    require<DataError>(known, "{}: unknown member \"{}\" (known here: {})", where, name, fmt::join(names, ", "));
  }
}

TokenizerJson bytes_to_json(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  std::string hex;
  for (char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return TokenizerJson{{"hex", hex}};
}

std::string bytes_from_json(const TokenizerJson& value, const std::string& where) {
  if (value.is_string()) return value.get<std::string>();
  const bool is_hex = value.is_object() && value.size() == 1 && value.contains("hex") && value["hex"].is_string();
  if (!is_hex) refuse_json(value, "a string or {\"hex\": \"...\"}", where);
  const auto& hex = value["hex"].get_ref<const std::string&>();
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_digit(hex[i]);
    const int low = i + 1 < hex.size() ? hex_digit(hex[i + 1]) : -1;
    require<DataError>(high >= 0 && low >= 0, "{}: \"{}\" is not pairs of digits 0-9a-f", where, hex);
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

}  // namespace weft
