// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace weft {

// An object as one line. Texts and pieces may hold parts of characters, which JSON cannot hold: U+FFFD replaces them.
template <class Json = nlohmann::ordered_json>
std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weft
