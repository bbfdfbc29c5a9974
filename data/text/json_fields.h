// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace weft {

// A member of a JSON object that must be a string.
struct JsonField {
  std::string_view key;  // key of the job that names the field
  std::string_view name;
  std::string* text;
};

// Reads these fields from the object on a line. Of other fields it finds only the ends, since crawls write what RFC
// 8259 forbids: NaN and Infinity pass, control characters and bytes that are not UTF-8 are kept as they are, and
// half a surrogate pair (Python writes them) becomes U+FFFD. Of equal names the last counts. BadRecordError, without
// the place of the line, if the line is not an object or lacks a string in one of the fields; the hint lists the names
// that the object has.
void read_json_fields(std::string_view line, std::span<const JsonField> fields);

}  // namespace weft
