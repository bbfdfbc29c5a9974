// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/config/writer.h"

namespace weft::test {

inline std::vector<bool> other_values(bool value) { return {!value}; }
inline std::vector<int64_t> other_values(int64_t value) { return {value == 0 ? 1 : 2 * value}; }
inline std::vector<double> other_values(double value) { return {value == 0 ? 0.1 : value / 2}; }
template <NamedEnum E>
std::vector<E> other_values(E value) {
  std::vector<E> others;
  for (const auto& [name, other] : EnumNames<E>::kNames) {
    if (other != value) others.push_back(other);
  }
  return others;
}

// Gives every field of a section other values, every one of an enum, one at a time, and calls `use` with "key" and
// "key=value" for each.
struct Variations {
  std::string prefix;
  const std::function<void(const std::string& key, const std::string& change)>& use;

  template <class T>
  void field(const char* name, T& value, const char*, const FieldProperties& = {}) {
    const std::string key = prefix + name;
    if constexpr (Section<T>) {
      Variations inner{key + ".", use};
      value.fields(inner);
    } else {
      const T before = value;
      for (const T other : other_values(before)) {
        value = other;
        use(key, key + "=" + value_on_one_line(encode_value(value)));
      }
      value = before;
    }
  }
};

}  // namespace weft::test
