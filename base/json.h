// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
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

// A number as a text has it.
struct JsonNumber {
  double value = 0;
  std::optional<int64_t> whole;  // if it has no fraction and no exponent, and an int64_t holds it
};

// Gets the numbers and texts of an object from scan_json(): those that are members, `place` 0, and those in a member
// that is a list, `place` 1 for its first element. `name` is the member's. Names and texts last for the call.
class JsonMembers {
 public:
  virtual ~JsonMembers() = default;
  virtual void number(std::string_view name, size_t place, const JsonNumber& value) = 0;
  virtual void text(std::string_view name, size_t place, std::string_view value) = 0;
};

// Reads an object by the rules of parse_json() without building values, for logs of a million lines. False for a text
// that parse_json() refuses, for one that is no object, and if an object has more than kMostScannedNames names; what
// was passed on before then does not count.
inline constexpr size_t kMostScannedNames = 256;
bool scan_json(std::string_view text, JsonMembers& members);

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
