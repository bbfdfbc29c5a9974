// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"

namespace weft {

// Checked reading of a tokenizer file's JSON. Every function throws DataError beginning with `where`, which names the
// file and the member.
using TokenizerJson = nlohmann::json;

[[noreturn]] void refuse_json(const TokenizerJson& found, std::string_view wanted, const std::string& where);
const TokenizerJson& json_member(const TokenizerJson& object, const char* name, const std::string& where);
const TokenizerJson& json_list(const TokenizerJson& value, const std::string& where);
// A string that is not empty.
std::string json_name(const TokenizerJson& value, const std::string& where);
int32_t json_id(const TokenizerJson& value, const std::string& where);
// Members other than `names` are an error: they come from a newer version, or from somewhere else.
void json_only_members(const TokenizerJson& object, std::initializer_list<std::string_view> names,
                       const std::string& where);

// Any bytes as JSON: a string if they are valid UTF-8, else {"hex": "ff00"}.
TokenizerJson bytes_to_json(std::string_view bytes);
std::string bytes_from_json(const TokenizerJson& value, const std::string& where);

}  // namespace weft
