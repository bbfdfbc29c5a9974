// SPDX-License-Identifier: Apache-2.0
#include "base/strict_json.h"

#include <unordered_set>
#include <vector>

#include "base/error.h"

namespace weft {

using Json = nlohmann::json;

Json parse_strict_json(std::string_view text, const std::string& where, int max_depth) {
  std::vector<std::unordered_set<std::string>> names(static_cast<size_t>(max_depth) + 1);  // of the open objects
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens) {
      require<DataError>(depth < max_depth, "{}: more than {} lists and objects within each other", where, max_depth);
      names[static_cast<size_t>(depth) + 1].clear();
    }
    if (event == Json::parse_event_t::key) {
      const bool is_new = names[static_cast<size_t>(depth)].insert(parsed.get<std::string>()).second;
      require<DataError>(is_new, "{}: {} is there twice", where, json_excerpt(parsed));
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: no valid JSON: {}", where, error.what()));
  }
}

std::string json_excerpt(const Json& value) {
  constexpr size_t kMost = 60;
  if (value.is_structured() && value.size() > 8) return fmt::format("a {} of {}", value.type_name(), value.size());
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

}  // namespace weft
