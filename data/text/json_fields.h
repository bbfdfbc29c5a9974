// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace weft {

// A member of a JSON object that is to be a string.
struct JsonField {
  std::string_view key;  // of the job: names the field
  std::string_view name;
  std::string* text;
};

// Takes these fields from the object on a line, and of the others no more than where they end: crawls write what RFC
// 8259 forbids. So NaN and Infinity pass, control characters and bytes that are not UTF-8 are kept as they are, and
// half a surrogate pair (Python writes them) becomes U+FFFD. Of equal names the last counts. BadRecordError, which does
// not know where the line stands, if it is no object or lacks a string in one of the fields; its hint lists the names
// that it has.
void read_json_fields(std::string_view line, std::span<const JsonField> fields);

}  // namespace weft
