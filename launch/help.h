// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config/writer.h"

namespace weft {

// Fields for a terminal, two lines each: "  width = 128  (an integer from 1 to 1048576)" and the field's meaning.
std::string fields_text(const std::vector<ConfigDoc>& docs);

// "Fields of --search, with their defaults:" and the fields of T, for the end of a command's help.
template <Section T>
std::string fields_help(const std::string& option, const T& defaults = {}) {
  return "Fields of " + option + ", with their defaults:\n" + fields_text(config_docs(defaults));
}

}  // namespace weft
