// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft {

// More lists and objects within each other than any file has that weft reads.
inline constexpr int kJsonDepth = 64;

// JSON that somebody else may have written: all of the program's goes through here. Besides what is no JSON, refuses a
// name that an object has twice (a reader would silently take one of the two) and more than `max_depth` lists and
// objects within each other, since to copy, to print or to compare them takes a stack frame a level. DataError
// beginning with `where`. Json is either of nlohmann's.
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
// At most 60 characters; of lists and objects with more than a few values, or with others within them, what they are.
template <class Value>
std::string excerpt_text(const Value& value);

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

namespace fmt {
template <class Value>
struct formatter<weft::JsonExcerpt<Value>> : formatter<std::string> {
  auto format(const weft::JsonExcerpt<Value>& excerpt, format_context& context) const {
    return formatter<std::string>::format(weft::excerpt_text(excerpt.value), context);
  }
};
}  // namespace fmt
