// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft {

// JSON of a file that somebody else wrote. Besides what is no JSON, refuses a name that an object has twice (a reader
// would silently take one of the two) and more than `max_depth` lists and objects within each other (memory for
// nothing). DataError beginning with `where`.
nlohmann::json parse_strict_json(std::string_view text, const std::string& where, int max_depth);

// A value as a message shows it: at most 60 characters.
std::string json_excerpt(const nlohmann::json& value);

// A whole number. One with a fraction or an exponent is refused: it would be cast, which beyond T's range is undefined.
// DataError; Json is either of nlohmann's.
template <class T, class Json>
T integer_from(const Json& value) {
  require<DataError>(value.is_number_integer(), "{} is no whole number", json_excerpt(value));
  return value.template get<T>();
}
// A member of an object, or what it is in files that lack it.
template <class T, class Json>
T integer_or(const Json& object, const char* name, T otherwise) {
  require<DataError>(object.is_object(), "{} is no object", json_excerpt(object));
  const auto at = object.find(name);
  return at == object.end() ? otherwise : integer_from<T>(*at);
}

}  // namespace weft
