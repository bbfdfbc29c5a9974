// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace weft {

template <class Json>
Json parse_json(std::string_view text, const std::string& where, int max_depth) {
  std::vector<std::unordered_set<std::string>> names;  // in each open list and object; the first entry is unused
  using Event = typename Json::parse_event_t;
  const auto check = [&](int depth, Event event, Json& parsed) {
    if (event == Event::object_start || event == Event::array_start) {
      require<DataError>(depth < max_depth, "{}: more than {} lists and objects within each other", where, max_depth);
      names.resize(static_cast<size_t>(depth) + 1);
      names.emplace_back();
    }
    if (event == Event::key) {
      const bool is_new = names[static_cast<size_t>(depth)].insert(parsed.template get<std::string>()).second;
      require<DataError>(is_new, "{}: {} is there twice", where, json_excerpt(parsed));
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const typename Json::parse_error& error) {
    throw DataError(fmt::format("{}: no valid JSON at byte {}: {}", where, error.byte, error.what()));
  } catch (const typename Json::exception& error) {  // a number that no double holds
    throw DataError(fmt::format("{}: no valid JSON: {}", where, error.what()));
  }
}

namespace {

std::string at_most_60(std::string text) {
  constexpr size_t kMost = 60;
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

template <class Json>
std::string excerpt_of(const Json& value) {
  const bool is_long = value.is_structured() && (value.size() > 8 || std::ranges::any_of(value, &Json::is_structured));
  if (is_long) return fmt::format("an {} of {}", value.type_name(), value.size());
  return at_most_60(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

template <>
std::string excerpt_text(const nlohmann::json& value) {
  return excerpt_of(value);
}
template <>
std::string excerpt_text(const nlohmann::ordered_json& value) {
  return excerpt_of(value);
}
template <>
std::string excerpt_text(const std::string& text) {
  return excerpt_of(nlohmann::json(text));
}

template nlohmann::json parse_json<nlohmann::json>(std::string_view text, const std::string& where, int max_depth);
template nlohmann::ordered_json parse_json<nlohmann::ordered_json>(std::string_view text, const std::string& where,
                                                                   int max_depth);

}  // namespace weft
