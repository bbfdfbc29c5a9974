// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft {

// Compilers spell a value that has a name by that name, and any other one as a cast: "(weft::Fruit)7". The text before
// it, "is_enumerator() [", has a closing parenthesis too, and so may the name of a namespace.
template <auto kValue>
consteval bool is_enumerator() {
  const std::string_view signature = __PRETTY_FUNCTION__;
  const char next = signature[signature.rfind(')') + 1];
  return next == ' ' || next == ':';
}

// How many values a scoped enum has: those from 0 up to the first number without a name.
template <class E, int kFrom = 0>
requires std::is_enum_v<E>
consteval int enum_size() {
  if constexpr (is_enumerator<static_cast<E>(kFrom)>()) {
    return enum_size<E, kFrom + 1>();
  } else {
    return kFrom;
  }
}

// The names of all values of an enum in their order, each beside its value. Does not compile unless every value has
// one.
template <class E, class... Names>
requires(sizeof...(Names) == enum_size<E>()) consteval auto enum_names(Names... names) {
  const std::array<std::string_view, sizeof...(Names)> texts = {names...};
  std::array<std::pair<std::string_view, E>, sizeof...(Names)> pairs;
  for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = {texts[i], static_cast<E>(i)};
  return pairs;
}

// Throws the InternalError for a number that is no value of its enum, which has `size` values.
[[noreturn]] void throw_no_value(size_t number, size_t size);

// A table with an entry for each value of an enum:
//   constexpr EnumTable<Fruit, std::string_view> kColours = {{Fruit::Apple, "red"}, {Fruit::Pear, "green"}};
// A table that leaves a value out, or has one twice, does not compile, so none can be forgotten when an enum grows.
template <class E, class T>
class EnumTable {
 public:
  consteval EnumTable(std::initializer_list<std::pair<E, T>> rows) {
    std::array<bool, kSize> is_there{};
    for (const auto& [key, value] : rows) {
      bool& seen = is_there[static_cast<size_t>(key)];
      if (std::exchange(seen, true)) throw "a value stands in the table twice";
      values_[static_cast<size_t>(key)] = value;
    }
    if (rows.size() != kSize) throw "a value of the enum is missing in the table";
  }

  // InternalError for a number that is no value of the enum.
  constexpr const T& operator[](E key) const {
    const auto at = static_cast<size_t>(key);
    if (at >= kSize) throw_no_value(at, kSize);
    return values_[at];
  }

 private:
  static constexpr size_t kSize = enum_size<E>();
  static_assert(kSize > 0, "the values of the enum must count from 0");
  std::array<T, kSize> values_{};
};

}  // namespace weft
