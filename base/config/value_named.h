// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/config/fields.h"
#include "base/error.h"

namespace weft {

// The value of an enum that a file names. DataError beginning with `where`, which lists the names, if there is none.
template <NamedEnum E>
E value_named(std::string_view name, const std::string& where) {
  std::vector<std::string_view> names;
  for (const auto& [known, value] : EnumNames<E>::kNames) {
    if (known == name) return value;
    names.push_back(known);
  }
  throw DataError(fmt::format("{}: \"{}\" is not one of {}", where, name, fmt::join(names, ", ")));
}

}  // namespace weft
