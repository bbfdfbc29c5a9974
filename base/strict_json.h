#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft {

// JSON of a file that somebody else wrote. Besides what is no JSON, refuses a name that an object has twice (a reader
// would silently take one of the two) and more than `max_depth` lists and objects within each other (memory for
// nothing). DataError beginning with `where`.
nlohmann::json parse_strict_json(std::string_view text, const std::string& where, int max_depth);

// A value as a message shows it: at most 60 characters.
std::string json_excerpt(const nlohmann::json& value);

}  // namespace weft
