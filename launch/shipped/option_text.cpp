// SPDX-License-Identifier: Apache-2.0
#include "launch/shipped/option_text.h"

namespace weft {

std::vector<const CLI::Option*> visible_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::string names_of(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true, false) : option.get_name(false, true);
}

std::string value_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return option.get_type_size() == 0 || type.empty() ? "" : " " + type;
}

// A type's name ends with what its checks say, and the check for one of several names says "{auto,cpu,cuda}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

}  // namespace weft
