// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "base/config/fields.h"

namespace weft {

// An option whose value is one of the names of E.
template <class E>
void add_choice_option(CLI::App& command, const char* option, E& value, const char* meaning, const char* type_name) {
  std::map<std::string, E> choices;
  for (const auto& [name, choice] : EnumNames<E>::kNames) choices.emplace(name, choice);
  command.add_option(option, value, meaning)->transform(CLI::CheckedTransformer(choices))->type_name(type_name);
}

}  // namespace weft
