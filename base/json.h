// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft {

// Levels of nested lists and objects. No file that weft reads has as many.
inline constexpr int kJsonDepth = 64;

// Parses JSON of any origin; all JSON that weft reads goes through here. Besides invalid JSON, refuses a name that an
// object has twice (a reader would silently take one of the two) and more than `max_depth` nested lists and objects,
// since copying, printing or comparing them takes a stack frame a level. DataError beginning with `where`. Json is
// either of nlohmann's.
template <class Json = nlohmann::json>
Json parse_json(std::string_view text, const std::string& where, int max_depth = kJsonDepth);

// A value or a text as a message shows it; its text is made only if the message is.
template <class Value>
struct JsonExcerpt {
  const Value& value;
};
template <class Value>
JsonExcerpt<Value> json_excerpt(const Value& value) {
  return {value};
}
// At most 60 characters. Lists and objects that are long or nested are described and not quoted.
template <class Value>
std::string excerpt_text(const Value& value);

// A whole number. DataError for one with a fraction or an exponent: a cast of it beyond T's range would be undefined.
// Json is either of nlohmann's types.
template <class T, class Json>
T integer_from(const Json& value) {
  require<DataError>(value.is_number_integer(), "{} is no whole number", json_excerpt(value));
  return value.template get<T>();
}
// A member of an object, or the default for files that lack it.
template <class T, class Json>
T integer_or(const Json& object, const char* name, T otherwise) {
  require<DataError>(object.is_object(), "{} is no object", json_excerpt(object));
  const auto at = object.find(name);
  return at == object.end() ? otherwise : integer_from<T>(*at);
}

}  // namespace weft

namespace fmt {
template <class Value>
struct formatter<weft::JsonExcerpt<Value>> : formatter<std::string> {
  auto format(const weft::JsonExcerpt<Value>& excerpt, format_context& context) const {
    return formatter<std::string>::format(weft::excerpt_text(excerpt.value), context);
  }
};
}  // namespace fmt
